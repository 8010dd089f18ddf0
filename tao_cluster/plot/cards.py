"""Cards: one per cluster, with its size, its sentence and the columns that differ most."""

import matplotlib.pyplot as plt

from ..inspection.palette import cluster_color, line_color, text_color
from .boxes import SMALLEST, Box, name_lines, text_width, wrap
from .style import Target, drawn_with, make_drawable

_WIDTH, _NARROWEST = 3.3, 2.6  # inches, of a card with text of the usual size
_GAP, _LINE, _MARGIN = 0.14, 0.155, 0.1  # inches
_HEAD, _SIZE = 0.3, 7.5
_TITLE, _BOLD = 10, 1.12  # size of the title in points, width of bold text beside plain text
_LONGEST = 3.0  # standard deviations
_MOST_LINES = 14  # of a rule
_MORE = "… and further conditions, which the text has."
_NOTE = (
    "Bars: difference of the mean from that of all rows, in standard deviations of all rows (at "
    "most 3 are drawn). Numbers: mean (mean of all rows)."
)


def plot_cards(cards, title="", target=None):
    """Draw one card per cluster, in rows of up to four, or as many as fit the size of a target.

    Parameters
    ----------
    cards : list of :class:`tao_cluster.description.Segment`
    title : str
    target : Target, optional

    Returns
    -------
    matplotlib Figure
        Its attribute `caption` explains the bars and numbers.

    Raises
    ------
    ValueError
        If the cards cannot be read at the size of the target.
    """
    n_columns = len(cards) if len(cards) < 4 else 3 if len(cards) in (5, 6, 9) else 4
    target = Target.from_options("screen", None, None) if target is None else target
    scale, wide, most = (target.font_size or _SIZE) / _SIZE, _WIDTH, n_columns
    if target.width is not None:
        place = target.width / scale - _GAP
        most = int(place / (_NARROWEST + _GAP))
        n_columns = max(1, min(most, n_columns if most < len(cards) else len(cards)))
        wide = place / n_columns - _GAP
    groups = [cards[i : i + n_columns] for i in range(0, len(cards), n_columns)]
    texts = [[_wrapped(card, wide) for card in group] for group in groups]
    width = n_columns * (wide + _GAP) + _GAP
    heads = name_lines(title, _TITLE, (width - 2 * _GAP) / _BOLD, 3) if title else []
    notes = name_lines(_NOTE, _SIZE, width - 2 * _GAP, 5) if target.style == "screen" else []
    above = _GAP + 0.2 * max(1, len(heads)) if heads or target.width is None else 0.0
    most_bars = max((len(card.bars) for card in cards), default=0)
    for n_bars in range(most_bars, -1, -1):  # fewer bars if the cards are too high
        heights = [
            max(
                _HEAD + _LINE * (len(lines) + 2 * len(card.bars[:n_bars])) + 3 * _MARGIN
                for card, lines in zip(group, wrapped, strict=True)
            )
            for group, wrapped in zip(groups, texts, strict=True)
        ]
        height = sum(heights) + _GAP * (len(heights) + 1) + above + _LINE * len(notes)
        if target.height is None or height * scale <= target.height:
            break
    longest = max((abs(bar[2]) for card in cards for bar in card.bars), default=1.0)
    longest = min(longest, _LONGEST)
    if most < 1 or (target.height is not None and height * scale > target.height):
        raise ValueError(
            f"The cards cannot be read at this size with text of {scale * _SIZE:g} points: they "
            f"need at least width={scale * (_NARROWEST + 2 * _GAP):.1f} and, with this width, "
            f"height={scale * height:.1f} inches."
        )
    with drawn_with(target.parameters):
        size = width * scale, target.height or height * scale
        figure = plt.figure(figsize=size, dpi=target.dpi)
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, width), ylim=(height - size[1] / scale, height))
        figure.caption = _NOTE
        ax.set_axis_off()
        smallest = SMALLEST if target.width is None else _SIZE
        page = Box(_GAP, height, width - 2 * _GAP, height, scale, smallest)
        for i, line in enumerate(heads):
            place = page.part(0.08 + 0.2 * i, 0.2)
            place.write(ax, line, _TITLE, x=page.left, ha="left", fontweight="bold")
        top = height - _GAP - above
        for group, wrapped, tall in zip(groups, texts, heights, strict=True):
            for i, (card, lines) in enumerate(zip(group, wrapped, strict=True)):
                box = page.at(_GAP + i * (wide + _GAP), top, wide, tall)
                _draw(ax, box, card, lines, card.bars[:n_bars], longest)
            top -= tall + _GAP
        for i, line in enumerate(notes):
            place = page.part(height - top + i * _LINE, _LINE)
            place.write(ax, line, _SIZE, x=page.left, ha="left", color="0.35")
        names = [text for card in cards for text in (card.name, card.rule)]
        make_drawable(figure, names)
    return figure


def _wrapped(card, wide):
    """Return the lines of the rule of a card; words that are too long are broken."""
    width, rule = wide - 2 * _MARGIN, card.rule[:1].upper() + card.rule[1:]
    lines = [
        line
        for part in wrap(rule, _SIZE, width)
        for line in ([part] if text_width(part, _SIZE) <= width else name_lines(part, _SIZE, width))
    ]
    more = [_MORE] if len(lines) > _MOST_LINES else []
    return lines[: _MOST_LINES - len(more)] + more


def _draw(ax, box, card, lines, bars, longest):
    """Draw a card: its heading on the colour of the cluster, its lines and its bars."""
    color = cluster_color(card.number)
    head, ink = box.part(0, _HEAD), text_color(color)
    head.frame(ax, color=color, fill=color, zorder=1)
    box.frame(ax, color=line_color(color), zorder=2)
    half = head.part(margin=_MARGIN)
    style = {"color": ink, "max_width": 0.55 * half.width, "fontweight": "bold"}
    half.write(ax, card.name, 9, x=half.left, ha="left", **style)
    size = {"color": ink, "max_width": 0.43 * half.width}
    half.write(ax, card.size, 8, x=half.right, ha="right", **size)
    top = _HEAD + _MARGIN
    for line in lines:
        box.part(top, _LINE, _MARGIN).write(ax, line, _SIZE, x=box.left + _MARGIN, ha="left")
        top += _LINE
    top += _MARGIN
    for label, numbers, deviation in bars:
        place = box.part(top, _LINE, _MARGIN)
        rest = min(text_width(numbers, _SIZE), place.width)  # only the name is cut
        wide = max(place.width - rest - _MARGIN, 0.1)
        place.write(ax, label, _SIZE, x=place.left, ha="left", max_width=wide)
        place.write(ax, numbers, _SIZE, x=place.right, ha="right", max_width=rest, may_cut=False)
        bar = box.part(top + _LINE, _LINE, _MARGIN)
        reach = max(-1.0, min(1.0, deviation / longest)) * bar.width / 2
        bar.bar(ax, bar.x, reach, 0.06, line_color(color))
        ax.plot([bar.x, bar.x], [bar.top - 0.02, bar.bottom + 0.02], color="0.6", linewidth=0.6)
        top += 2 * _LINE
