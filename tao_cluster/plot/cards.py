"""Cards: one per cluster, with its size, its sentence and the columns that differ most."""

import matplotlib.pyplot as plt

from ..inspection.palette import NEGATIVE, POSITIVE, cluster_color, text_color, tint
from .boxes import Box, name_lines, text_width, wrap
from .style import STYLE, drawn_with, make_drawable

_DPI = 150
_WIDTH, _GAP, _LINE, _MARGIN = 3.3, 0.14, 0.155, 0.1  # inches
_HEAD, _SIZE = 0.3, 7.5
_LONGEST = 3.0  # standard deviations
_MOST_LINES = 14  # of a rule
_MORE = "… and further conditions, which the text has."
_NOTE = (
    "Bars: difference of the mean from that of all rows, in standard deviations of all rows (at "
    "most 3 are drawn). Numbers: mean (mean of all rows)."
)


def plot_cards(cards, title=""):
    """Draw one card per cluster, in rows of up to four.

    Parameters
    ----------
    cards : list of :class:`tao_cluster.description.Segment`
    title : str

    Returns
    -------
    matplotlib Figure
    """
    n_columns = len(cards) if len(cards) < 4 else 3 if len(cards) in (5, 6, 9) else 4
    groups = [cards[i : i + n_columns] for i in range(0, len(cards), n_columns)]
    texts = [[_wrapped(card) for card in group] for group in groups]
    heights = [
        max(
            _HEAD + _LINE * (len(lines) + 2 * len(card.bars)) + 3 * _MARGIN
            for card, lines in zip(group, wrapped, strict=True)
        )
        for group, wrapped in zip(groups, texts, strict=True)
    ]
    width = n_columns * (_WIDTH + _GAP) + _GAP
    notes = name_lines(_NOTE, _SIZE, width - 2 * _GAP, 3)
    height = sum(heights) + _GAP * (len(heights) + 1) + 0.3 + _LINE * len(notes)
    longest = max((abs(bar[2]) for card in cards for bar in card.bars), default=1.0)
    longest = min(longest, _LONGEST)
    with drawn_with(STYLE):
        figure = plt.figure(figsize=(width, height), dpi=_DPI)
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, width), ylim=(0, height))
        ax.set_axis_off()
        page = Box(_GAP, height, width - 2 * _GAP, height)
        page.part(0.05, 0.25).write(ax, title, 10, x=page.left, ha="left", fontweight="bold")
        top = height - 0.3 - _GAP
        for group, wrapped, tall in zip(groups, texts, heights, strict=True):
            for i, (card, lines) in enumerate(zip(group, wrapped, strict=True)):
                box = Box(_GAP + i * (_WIDTH + _GAP), top, _WIDTH, tall)
                _draw(ax, box, card, lines, longest)
            top -= tall + _GAP
        for i, line in enumerate(notes):
            place = page.part(height - top + i * _LINE, _LINE)
            place.write(ax, line, _SIZE, x=page.left, ha="left", color="0.35")
        names = [text for card in cards for text in (card.name, card.rule)]
        make_drawable(figure, names)
    return figure


def _wrapped(card):
    """Return the lines of the rule of a card; words that are too long are broken."""
    width, rule = _WIDTH - 2 * _MARGIN, card.rule[:1].upper() + card.rule[1:]
    lines = [
        line
        for part in wrap(rule, _SIZE, width)
        for line in ([part] if text_width(part, _SIZE) <= width else name_lines(part, _SIZE, width))
    ]
    more = [_MORE] if len(lines) > _MOST_LINES else []
    return lines[: _MOST_LINES - len(more)] + more


def _draw(ax, box, card, lines, longest):
    """Draw a card: its heading on the colour of the cluster, its lines and its bars."""
    color = cluster_color(card.number)
    head, ink = box.part(0, _HEAD), text_color(color)
    head.frame(ax, color=color, fill=color, zorder=1)
    box.frame(ax, color=tint(color, 0.8), zorder=2)
    half = head.part(margin=_MARGIN)
    style = {"color": ink, "max_width": 0.62 * half.width, "fontweight": "bold"}
    half.write(ax, card.name, 9, x=half.left, ha="left", **style)
    size = {"color": ink, "max_width": 0.36 * half.width}
    half.write(ax, card.size, 8, x=half.right, ha="right", **size)
    top = _HEAD + _MARGIN
    for line in lines:
        box.part(top, _LINE, _MARGIN).write(ax, line, _SIZE, x=box.left + _MARGIN, ha="left")
        top += _LINE
    top += _MARGIN
    for label, numbers, deviation in card.bars:
        place = box.part(top, _LINE, _MARGIN)
        rest = min(text_width(numbers, _SIZE), 0.48 * place.width)
        wide = place.width - rest - _MARGIN
        place.write(ax, label, _SIZE, x=place.left, ha="left", max_width=wide)
        place.write(ax, numbers, _SIZE, x=place.right, ha="right", max_width=rest)
        bar = box.part(top + _LINE, _LINE, _MARGIN)
        reach = max(-1.0, min(1.0, deviation / longest)) * bar.width / 2
        paint = POSITIVE if deviation > 0 else NEGATIVE
        bar.bar(ax, bar.x, reach, 0.06, paint)
        ax.plot([bar.x, bar.x], [bar.top - 0.02, bar.bottom + 0.02], color="0.6", linewidth=0.6)
        top += 2 * _LINE
