"""Cards: one per cluster, with its size, its sentence and the columns that differ most."""

import re
from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from ..columns.names import MARK, Indicator, brief, printable
from ..inspection.palette import cluster_color
from .boxes import Box, text_width, wrap
from .style import drawn_with, ink, make_drawable, new_axes

# In inches of a picture with text of _SIZE points, which is magnified as a whole: usual width of a
# card and the least one, gap between cards, height of a line and of a bar, and margins.
_WIDTH, _NARROWEST, _GAP, _LINE, _BAR = 3.3, 1.9, 0.06, 0.125, 0.056
_SIDE, _ABOVE = 0.045, 0.03
_SIZE, _TITLE, _BOLD = 7.5, 10, 1.12  # points; width of bold text beside plain text
_LARGEST = 2.0  # magnification of cards that fill a slide, relative to its smallest text
_LOOSE = 0.13  # most space that is added below a bar to fill the height of a card
_LONGEST, _LONGEST_NAME = 3.0, 150  # standard deviations, and characters
_MOST_LINES = 14  # of a rule
_BREAKS = " _/"  # a name may be broken behind one of these characters
_RULE = 0.95  # of the width of a card: the lines of a rule end before its edge
_LEGEND = "Numbers are means, and in parentheses those of all rows."
_CAPTION = "Bars are the differences of both in standard deviations (at most 3 are drawn)."
# Forms in the order of trying: whether all words are shown, whether rules are, and the most lines
# of a name. If none of them fits with two bars, there are fewer.
_FORMS = ((True, True, 4), (True, False, 4), (False, True, 3), (False, False, 3), (False, False, 2))
_LAST = ((False, False, 2, 1), (False, False, 1, 1), (False, False, 1, 0))


def plot_cards(cards, title, target):
    """Draw one card per cluster, in lines of up to four, on a slide of up to three.

    The cards of a line fill its width. If the cards are too high for the target, they have fewer
    bars, at least two; then they have no rules, and names lose words. Only more cards than a slide
    has space for have one bar or none. On a slide, cards are magnified.

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
    larger = np.linspace(_LARGEST, 1.0, 10, endpoint=False) if target.style == "slide" else ()
    scales = [*(least * scale for scale in larger), least]
    most = max((len(card.bars) for card in cards), default=0)
    numbers = range(most, min(most, 2) - 1, -1)
    contents = [*((*form, n) for form in _FORMS for n in numbers), *_LAST]
    with drawn_with(target.parameters, is_chart=False):
        for content in contents:
            for scale in scales if content[0] else [least]:
                sheet = _Sheet(cards, title, target, scale, *content)
                if sheet.fits:
                    return sheet.draw()
        width = least * (_NARROWEST + 2 * _GAP)
        raise target.too_small("sheet of cards", width, least * sheet.height)


class _Card(NamedTuple):
    """A card of a width: its rows are (text on the left, text on the right, bar or None)."""

    segment: NamedTuple
    head: list
    size: str
    rows: list
    n_bars: int
    is_whole: bool

    @classmethod
    def from_segment(cls, segment, width, has_rules, n_lines, n_bars):
        """Arrange a segment in a width; its rule, and columns, whose names lose words if long."""
        sizes = [segment.size, f"{100 * segment.share:.1f} %"]
        size = next((x for x in sizes if text_width(x, _SIZE) <= 0.45 * width), sizes[-1])
        head = _lines("", segment.name, _SIZE * _BOLD, width, size, min(n_lines, 2))
        rows, bars = [], segment.bars[:n_bars]
        for label, numbers, deviation in bars:
            is_level = isinstance(label, Indicator)
            parts = (printable(label.column), f"is {label.level}") if is_level else ("", label)
            *lines, last = _lines(*parts, _SIZE, width, numbers, n_lines)
            rows += [*((line, "", None) for line in lines), (last, numbers, deviation)]
        is_whole = not any(MARK in line for line in [*head, *(row[0] for row in rows)])
        if has_rules:
            lines = wrap(segment.rule, _SIZE, _RULE * width, _BREAKS)
            lines = [_cut(line, _SIZE, width) for line in lines]
            lines[_MOST_LINES:] = [MARK] * (len(lines) > _MOST_LINES)
            rows = [*((line, "", None) for line in [*lines, ""]), *rows]
        return cls(segment, head, size, rows, len(bars), is_whole)

    @property
    def height(self):
        """Height of the rows."""
        return _LINE * len(self.rows) + _BAR * self.n_bars


def _lines(first, last, size, width, right, most):
    """Return a text in lines of whole words; the last one has space for the text on its right.

    If there are more than `most` lines, "…" replaces words: those after the first one of `first`,
    which is the column of a level, and then the end of `last`. Only a word that is wider than a
    line is cut.
    """
    beside = width - (text_width(right, _SIZE) + _SIDE) * bool(right)
    first, last = brief(first, _LONGEST_NAME), brief(last, _LONGEST_NAME)
    firsts = [first, *_shorter(first, 1)]
    forms = [f"{words} {last}".strip() for words in firsts]
    shortest = forms[-1]
    forms += [f"{firsts[-1]} {words}".strip() for words in _shorter(last, 2 if first else 1)]
    for form in forms:
        lines = wrap(form, size, width, _BREAKS)
        lines += [""] if text_width(lines[-1], size) > beside else []
        if len(lines) <= most and max(text_width(line, size) for line in lines) <= width:
            return lines
    lines = [*wrap(shortest, size, width, _BREAKS), ""]
    lines[most - 1 :] = [" ".join(lines[most - 1 :]).strip()]
    return [*(_cut(line, size, width) for line in lines[:-1]), _cut(lines[-1], size, beside)]


def _shorter(text, least):
    """Return a text without its last words, with "…" instead; `least` words remain at least."""
    ends = [found.end() for found in re.finditer(f"[{_BREAKS}]+(?=.)", text)][least - 1 :]
    return [f"{text[:end].rstrip(_BREAKS)} {MARK}" for end in reversed(ends)]


def _cut(line, size, width):
    """Return a line, without its end if it is wider than the width."""
    if text_width(line, size) <= width:
        return line
    n = bisect_right(range(len(line)), width, key=lambda n: text_width(line[:n] + MARK, size))
    return line[: max(n - 1, 0)].rstrip() + MARK


class _Sheet:
    """Cards in lines, in inches before they are magnified by `scale`.

    Names have at most `n_lines` lines and, if `is_whole`, all their words.
    """

    def __init__(self, cards, title, target, scale, is_whole, has_rules, n_lines, n_bars):
        n, n_columns, place = len(cards), 3 if target.style == "slide" else 4, None
        if target.width is not None:
            place = target.width / scale - _GAP
            n_columns = max(1, min(n_columns, int(place / (_NARROWEST + _GAP))))
        parts = np.array_split(np.arange(n), -(-n // n_columns))
        place = place or len(parts[0]) * (_WIDTH + _GAP)
        self.target, self.scale, self.width = target, scale, place + _GAP
        self.widths = [place / len(part) - _GAP for part in parts]
        content = has_rules, n_lines, n_bars
        self.groups = [
            [_Card.from_segment(cards[i], wide - 2 * _SIDE, *content) for i in part]
            for part, wide in zip(parts, self.widths, strict=True)
        ]
        inside = self.width - 2 * _GAP
        if "\n" not in title and _BOLD * text_width(title, _SIZE) > inside:
            title = title.replace("; ", ";\n", 1)
        longest = _BOLD * max(text_width(line, 1.0) for line in f"{title} ".split("\n"))
        self.title_size = min(_TITLE, max(_SIZE, inside / longest))
        self.title = wrap(title, self.title_size, inside / _BOLD) if title else []
        self.notes = wrap(_LEGEND, _SIZE, inside) if target.style != "paper" else []
        cards = [card for group in self.groups for card in group]
        self.head = _LINE * max(len(card.head) for card in cards) + 2 * _ABOVE
        rest = self.head + 2 * _ABOVE
        self.heights = [rest + max(card.height for card in group) for group in self.groups]
        self.line = 0.018 * self.title_size
        self.height = sum(self.heights) + _GAP * (len(parts) + 1)
        self.height += self.line * len(self.title) + _LINE * len(self.notes)
        is_low = target.height is None or self.height * scale <= target.height
        has_all = not is_whole or all(card.is_whole for card in cards)
        self.fits = is_low and has_all and min(self.widths) >= _NARROWEST

    def draw(self):
        """Draw the cards into a new figure."""
        scale = self.scale
        height = self.height if self.target.height is None else self.target.height / scale
        more = (height - self.height) / len(self.heights)
        ax = new_axes(self.width * scale, height * scale, 0.0, self.target)
        ax.figure.caption = f"{_LEGEND} {_CAPTION}"
        ax.set(xlim=(0, self.width), ylim=(0, height))
        ax.set_axis_off()
        page = Box(_GAP, height, self.width - 2 * _GAP, height, scale, _SIZE)
        for i, line in enumerate(self.title):
            place = page.part(_GAP / 2 + i * self.line, self.line)
            place.write(ax, line, self.title_size, x=page.left, ha="left", fontweight="bold")
        top = height - _GAP - self.line * len(self.title)
        cards = [card.segment for group in self.groups for card in group]
        longest = max((abs(bar[2]) for card in cards for bar in card.bars), default=1.0)
        unit = (min(self.widths) / 2 - _SIDE) / min(longest, _LONGEST)  # the same in all cards
        for group, wide, tall in zip(self.groups, self.widths, self.heights, strict=True):
            for i, card in enumerate(group):
                box = page.at(_GAP + i * (wide + _GAP), top, wide, tall + more)
                _draw(ax, box, card, self.head, unit)
            top -= tall + more + _GAP
        for i, line in enumerate(self.notes):
            place = page.part(height - top + i * _LINE - _GAP / 2, _LINE)
            place.write(ax, line, _SIZE, x=page.left, ha="left", color="0.35")
        make_drawable(ax.figure, [text for card in cards for text in (card.name, card.rule)])
        return ax.figure


def _draw(ax, box, card, head, unit):
    """Draw a card: its name on the colour of the cluster, and its rows; `unit` is that of bars."""
    color = cluster_color(card.segment.number)
    top, left = box.part(0, head), box.left + _SIDE
    top.frame(ax, color="none", fill=color, zorder=1)
    box.frame(ax, color=color, zorder=2)
    style = {"color": "0.0", "on": color}
    lines = top.part(0, head, _SIDE).lines(len(card.head), _LINE)
    for place, line in zip(lines, card.head, strict=True):
        place.write(ax, line, _SIZE, x=left, ha="left", fontweight="bold", **style)
    lines[-1].write(ax, card.size, _SIZE, x=lines[-1].right, ha="right", may_cut=False, **style)
    place = box.part(head + _ABOVE, 0.0, _SIDE)
    loose = min(_LOOSE, (box.height - head - 2 * _ABOVE - card.height) / max(card.n_bars, 1))
    for text, numbers, deviation in card.rows:
        place = place.part(place.height, _LINE)
        place.write(ax, numbers, _SIZE, x=place.right, ha="right", may_cut=False)
        place.write(ax, text, _SIZE, x=left, ha="left")
        if deviation is not None:
            place = place.part(_LINE, _BAR)
            reach = max(-_LONGEST, min(_LONGEST, deviation)) * unit
            place.bar(ax, place.x, reach, 0.05, ink(color))
            zero = {"color": ink("0.6"), "linewidth": 0.6 * box.scale}
            ax.plot([place.x, place.x], [place.top, place.bottom], **zero)
            place = place.part(_BAR, loose)
