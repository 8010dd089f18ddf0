"""Cards: one per cluster, with its size, its sentence and the columns that differ most."""

from itertools import product
from typing import NamedTuple

import numpy as np

from ..columns.names import MARK
from ..export.format import percent_text
from ..inspection.palette import cluster_color
from .boxes import SMALLEST, Box, name_lines, text_width, wrap
from .style import drawn_with, ink, make_drawable, new_axes

# In inches of a picture with text of _SIZE points, which is magnified as a whole: usual width of a
# card and the least one, gap between cards, height of a line, of a bar and of a head, and margin.
_WIDTH, _NARROWEST, _GAP, _LINE, _BAR, _HEAD, _MARGIN = 3.3, 1.85, 0.1, 0.155, 0.1, 0.28, 0.08
_SIZE, _TITLE, _BOLD = 7.5, 10, 1.12  # points; width of bold text beside plain text
_LARGEST = 2.0  # magnification of cards that fill a slide, relative to its smallest text
_LONGEST = 3.0  # standard deviations
_MOST_LINES = 14  # of a rule
_MORE = "… and further conditions, which the text has."
_NOTE = (
    "Bars: difference of the mean from that of all rows, in standard deviations of all rows (at "
    "most 3 are drawn). Numbers: mean (mean of all rows)."
)


def plot_cards(cards, title, target):
    """Draw one card per cluster, in lines of up to four, or as many as fit the size of a target.

    If the cards are too high for the target, they have fewer bars, at least two. Then they have no
    rules, and each has as many bars as it has space for. On a slide, cards are magnified.

    Parameters
    ----------
    cards : list of :class:`tao_cluster.description.Segment`
    title : str
    target : Target

    Returns
    -------
    matplotlib Figure
        Its attribute `caption` explains the bars and numbers.

    Raises
    ------
    ValueError
        If the cards cannot be read at the size of the target.
    """
    least = (target.font_size or _SIZE) / _SIZE
    scales = least * np.linspace(_LARGEST if target.style == "slide" else 1.0, 1.0, 11)
    most = max((len(card.bars) for card in cards), default=0)
    contents = [(n, 3, True) for n in range(most, 1, -1)]
    contents += [(n, n_lines, False) for n in range(most, 0, -1) for n_lines in (3, 2)]
    contents += [(min(most, 1), 1, False), (0, 1, False)]
    with drawn_with(target.parameters, is_chart=False):
        for content, scale in product(contents, scales.tolist()):
            sheet = _Sheet(cards, title, target, scale, *content)
            if sheet.fits:
                return sheet.draw()
        width = least * (_NARROWEST + 2 * _GAP)
        raise target.too_small("sheet of cards", width, least * sheet.height)


class _Sheet:
    """Cards in lines, in inches before they are magnified by `scale`.

    Parameters
    ----------
    cards, title, target : as for :func:`plot_cards`
    scale : float
    n_bars : int, largest number of bars of a card
    n_lines : int, largest number of lines of the name of a column
    has_rules : bool
    """

    def __init__(self, cards, title, target, scale, n_bars, n_lines, has_rules):
        n, n_groups = len(cards), -(-len(cards) // (3 if target.style == "slide" else 4))
        n_columns = -(-n // max(1, n_groups))
        self.target, self.scale, self.wide = target, scale, _WIDTH
        if target.width is not None:
            place = target.width / scale - _GAP
            n_columns = max(1, min(n_columns, int(place / (_NARROWEST + _GAP))))
            self.wide = place / n_columns - _GAP
        self.width = n_columns * (self.wide + _GAP) + _GAP
        self.heads = name_lines(title, _TITLE, (self.width - 2 * _GAP) / _BOLD, 3) if title else []
        is_screen = target.style == "screen"
        self.notes = name_lines(_NOTE, _SIZE, self.width - 2 * _GAP, 5) if is_screen else []
        rows = [_rows(c, self.wide - 2 * _MARGIN, n_bars, n_lines, has_rules) for c in cards]
        own = list(zip(cards, rows, strict=True))
        self.groups = [own[i : i + n_columns] for i in range(0, n, n_columns)]
        self.heights = [
            _HEAD + 2 * _MARGIN + max(sum(map(_height, rows)) for _, rows in group)
            for group in self.groups
        ]
        self.above = 0.04 + 0.2 * len(self.heads) if self.heads else 0.0
        self.height = sum(self.heights) + _GAP * (len(self.heights) + 1) + self.above
        self.height += _LINE * len(self.notes)
        is_low = target.height is None or self.height * scale <= target.height
        self.fits = is_low and self.wide >= _NARROWEST

    def draw(self):
        """Draw the cards into a new figure."""
        scale, wide = self.scale, self.wide
        height = self.height if self.target.height is None else self.target.height / scale
        more = (height - self.height) / len(self.heights)
        ax = new_axes(self.width * scale, height * scale, 0.0, self.target)
        ax.figure.caption = _NOTE
        ax.set(xlim=(0, self.width), ylim=(0, height))
        ax.set_axis_off()
        smallest = SMALLEST if self.target.width is None else _SIZE
        page = Box(_GAP, height, self.width - 2 * _GAP, height, scale, smallest)
        for i, line in enumerate(self.heads):
            place = page.part(0.06 + 0.2 * i, 0.2)
            place.write(ax, line, _TITLE, x=page.left, ha="left", fontweight="bold")
        top = height - _GAP - self.above
        cards = [card for group in self.groups for card, _ in group]
        longest = max((abs(bar[2]) for card in cards for bar in card.bars), default=1.0)
        for group, tall in zip(self.groups, self.heights, strict=True):
            for i, (card, rows) in enumerate(group):
                box = page.at(_GAP + i * (wide + _GAP), top, wide, tall + more)
                _draw(ax, box, card, rows, min(longest, _LONGEST))
            top -= tall + more + _GAP
        for i, line in enumerate(self.notes):
            place = page.part(height - top + i * _LINE, _LINE)
            place.write(ax, line, _SIZE, x=page.left, ha="left", color="0.35")
        make_drawable(ax.figure, [text for card in cards for text in (card.name, card.rule)])
        return ax.figure


class _Row(NamedTuple):
    """A line of a card: a text on the left and one on the right, and perhaps a bar below them."""

    left: str
    right: str = ""
    deviation: float | None = None


def _height(row):
    return _LINE + (0.0 if row.deviation is None else _BAR)


def _rows(card, width, n_bars, n_lines, has_rules):
    """Return the rows of a card: its rule, and columns, whose names lose words if they are long."""
    rule = card.rule[:1].upper() + card.rule[1:] if has_rules else ""
    lines = name_lines(rule, _SIZE, width, len(rule), " ")
    more = [_MORE] if len(lines) > _MOST_LINES else []
    rows = [_Row(line) for line in [*lines[: _MOST_LINES - len(more)], *more, ""] if rule]
    highest = n_bars * (_LINE + _BAR) + 1e-6
    for label, numbers, deviation in card.bars[:n_bars]:
        rest = max(width - text_width(numbers, _SIZE) - _MARGIN, 0.1)
        names = wrap(label, _SIZE, rest)
        if len(names) > n_lines:
            names[n_lines - 1 :] = [_whole_words(" ".join(names[n_lines - 1 :]), rest)]
        own = [_Row(names[0], numbers), *map(_Row, names[1:])]
        own[-1] = own[-1]._replace(deviation=deviation)
        if rows and not has_rules and sum(map(_height, rows + own)) > highest:
            break
        rows += own
    return rows


def _whole_words(text, width):
    """Return a text without its last words if a line is too short for all of them."""
    words = text.split()
    tried = [text, *(" ".join([*words[:n], MARK]) for n in range(len(words) - 1, 0, -1))]
    return next((cut for cut in tried if text_width(cut, _SIZE) <= width), text)


def _draw(ax, box, card, rows, longest):
    """Draw a card: its heading on the colour of the cluster, and its rows."""
    color = cluster_color(card.number)
    head, left = box.part(0, _HEAD), box.left + _MARGIN
    head.frame(ax, color="none", fill=color, zorder=1)
    box.frame(ax, color=color, zorder=2)
    head, style = head.part(margin=_MARGIN), {"color": "0.0", "on": color}
    sizes = [card.size, percent_text(card.share)]
    size = next((x for x in sizes if text_width(x, _SIZE) <= 0.45 * head.width), sizes[-1])
    head.write(ax, size, 8, x=head.right, ha="right", may_cut=False, **style)
    rest = (head.width - text_width(size, 8) - _MARGIN) / _BOLD
    style |= {"max_width": rest, "fontweight": "bold"}
    head.write(ax, _whole_words(card.name, rest), 9, x=left, ha="left", **style)
    place = box.part(_HEAD + _MARGIN, 0.0, _MARGIN)
    for row in rows:
        place = place.part(place.height, _LINE)
        place.write(ax, row.right, _SIZE, x=place.right, ha="right", may_cut=False)
        rest = place.width - text_width(row.right, _SIZE) - _MARGIN * bool(row.right)
        place.write(ax, row.left, _SIZE, x=left, ha="left", max_width=max(rest, 0.1))
        if row.deviation is not None:
            place = place.part(_LINE, _BAR)
            reach = max(-1.0, min(1.0, row.deviation / longest)) * place.width / 2
            place.bar(ax, place.x, reach, 0.06, ink(color))
            zero = {"color": ink("0.6"), "linewidth": 0.6 * box.scale}
            ax.plot([place.x, place.x], [place.top, place.bottom], **zero)
