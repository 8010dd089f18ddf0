"""Explanations as HTML for notebooks: plain tables, every text escaped."""

import html

from ..plot.colors import NEGATIVE, POSITIVE

_CELL = "text-align: left; vertical-align: top; padding: 1px 8px"
_BAR = "height: 0.7em; min-width: 1px; margin-left: {left:.2f}%; width: {width:.2f}%"


def path_html(tests, end):
    """Tests of a path as tables of bars, and where it ends.

    Parameters
    ----------
    tests : sequence of PathTest
    end : str
    """
    return "<div>" + "".join(map(_test_html, tests)) + f"<p><b>{html.escape(end)}</b></p></div>"


def _test_html(test):
    heading = html.escape(f"{test.outcome} -> {test.side}")
    heading = f"<p style='margin: 6px 0 2px'>{heading}</p>"
    if len(test.contributions) < 2:
        return heading
    steps = test.steps
    places = [0.0, test.total, *(start for *_, start in steps)]
    low, width = min(places), max(places) - min(places) or 1.0
    rows = "".join(
        f"<tr><td style='{_CELL}'>{html.escape(name)}</td><td style='{_CELL}'>{number}</td>"
        f"<td style='{_CELL}; width: 240px'><div style='{_bar(start, size, low, width)}'></div>"
        "</td></tr>"
        for name, number, size, start in steps
    )
    return f"{heading}<table>{rows}</table>"


def _bar(start, size, low, width):
    """Where a bar lies, in percent of its cell, and its colour."""
    left = min(start, start + size) - low
    place = {"left": 100 * left / width, "width": 100 * abs(size) / width}
    return f"{_BAR.format(**place)}; background: {POSITIVE if size > 0 else NEGATIVE}"


def table_html(heads, lines, more=""):
    """A table of texts; line breaks in them are kept.

    Parameters
    ----------
    heads : sequence of str
    lines : list of sequences
    more : str, below the table
    """
    head = "".join(f"<th style='{_CELL}'>{html.escape(text)}</th>" for text in heads)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td style='{_CELL}; white-space: pre-line'>{html.escape(str(value))}</td>"
            for value in line
        )
        + "</tr>"
        for line in lines
    )
    foot = f"<p>{html.escape(more)}</p>" if more else ""
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}</div>"


def list_html(heading, lines):
    """A heading and a list below it."""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<div><p><b>{html.escape(heading)}</b></p><ul>{items}</ul></div>"
