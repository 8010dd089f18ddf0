"""Pictures of a decision path and of the features of a cluster."""

import math
import re

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from ..columns.names import Abbreviation
from ..export.format import minus_signs, tested_name, typeset, value_text
from ..inspection.palette import NEGATIVE, POSITIVE
from ..inspection.rows import check_image_shape
from .boxes import name_lines, text_width, wrap
from .charts import label_bars
from .glyphs import PALE, SIGNED
from .split_view import number
from .style import Target, drawn_with, font_size, ink, make_drawable

# In inches of a picture with text of _SIZE points, which is magnified as a whole: width of a figure
# (_WIDTH) and of the narrowest one (_LEAST), height of a bar (_LINE), of the title and the axis of
# one test (_AROUND), and of a line of text (_TEXT).
_SIZE, _WIDTH, _LEAST, _LINE, _AROUND, _TEXT = 8, 6.4, 2.8, 0.21, 0.62, 0.15
_PALE = "0.87"
_MINUS = "\N{MINUS SIGN}"
_OF_SUMS = (
    "Each bar is weight * value of a feature and begins where the bar above it ends.",
    "The grey bar is their sum. The row goes left if it is at most the threshold (dashed line).",
)
_OF_VALUES = ("The point is the value of the row, and the dashed line is the threshold.",)
_OF_IMAGES = (
    "Red pixels add weight * value to the sum of a test, blue pixels subtract from it.",
    "Grey is the image of the row. The darker a colour, the larger is the product. The title of a "
    "test compares the sum (grey bar) with the threshold (dashed line).",
)
_NAMES = 0.33  # share of the width for the names beside bars; longer names get two lines
_IMAGE = 1.35  # longer side of an image beside its sum


def plot_decision_path(tests, title, **options):
    """Draw the tests of one decision path, one below the other.

    A test of several features is drawn as a sum: each bar begins where the bar above it ends, the
    grey bar is the sum, and the dashed line is the threshold. For a test of one feature, the point
    is the value. A test on the levels of a categorical column is written.

    Parameters
    ----------
    tests : sequence of :class:`tao_cluster.explanations.PathTest`
    title : str
    **options
        style, width, height, figsize and font_size, as for :func:`tao_cluster.plot.plot_tree`.

    Returns
    -------
    matplotlib Figure
        With axes for each test; a single empty one if there are no tests.
    """
    names = [tested_name(term.name) for test in tests for term in test.contributions]
    abbreviate, target = Abbreviation.from_names(names), Target.from_options(**options)
    with drawn_with(target.parameters):
        wide = _wide(target)
        labels = [_labels(test, abbreviate, _NAMES * wide) for test in tests]
        heights = [_height(*pair, wide) for pair in zip(tests, labels, strict=True)] or [_AROUND]
        notes = _how_to_read(tests, abbreviate.note)
        figure, axes = _figure(target, heights, title, notes)
        for ax, test, names_beside in zip(axes[:, 0], tests, labels, strict=False):
            _write_outcome(ax, test, wide)
            if test.fact is not None:
                ax.set_axis_off()
            elif test.bound is None:
                _draw_sum(ax, test, names_beside, [step[2:] for step in test.steps])
            else:
                _draw_value(ax, test, names_beside)
        if not tests:
            axes[0, 0].set_axis_off()
        make_drawable(figure, names)
    return figure


def plot_image_path(tests, title, row, image_shape, **options):
    """Draw the tests of the decision path of an image, one below the other.

    The terms weight * value of a test are pixels over the pale image. Red pixels add to the sum
    and blue ones subtract from it. Bars beside the image are the sums of the red and of the blue
    pixels and their total, and the dashed line is the threshold.

    Parameters
    ----------
    tests : sequence of :class:`tao_cluster.explanations.PathTest`
    title : str
    row : float64 array or CSR matrix of shape (1, n_features)
    image_shape : (height, width)
    **options
        style, width, height, figsize and font_size, as for :func:`tao_cluster.plot.plot_tree`.

    Returns
    -------
    matplotlib Figure
        With two axes for each test, for the image and for the bars; empty ones without tests.
    """
    check_image_shape(image_shape, row.shape[1])
    image = (row.toarray() if sp.issparse(row) else row).reshape(image_shape)
    side, target = _IMAGE * image_shape[1] / max(image_shape), Target.from_options(**options)
    with drawn_with(target.parameters):
        wide, heights = _wide(target), [_IMAGE + 0.25] * max(1, len(tests))
        ratios = {"width_ratios": [side, wide - side]}
        figure, axes = _figure(target, heights, title, _OF_IMAGES if tests else [], 2, **ratios)
        for (left, right), test in zip(axes, tests, strict=False):
            _draw_products(left, test, image)
            _draw_signs(right, test, wide - side)
        if not tests:
            for ax in axes[0]:
                ax.set_axis_off()
        make_drawable(figure)
    return figure


def _wide(target):
    """Return the width of a figure before it is magnified, in inches."""
    return _WIDTH if target.width is None else target.width * _SIZE / font_size()


def _figure(target, heights, title, notes, n_columns=1, **options):
    """Return a figure and its axes, one line per test, with a title and, on a screen, a note.

    Raises
    ------
    ValueError
        If the figure is too small for its text.
    """
    wide, unit = _wide(target), font_size() / _SIZE
    head = name_lines(title, 1.4 * _SIZE, wide - 0.2, 4, " ")
    lines = [line for note in notes[:1] for line in wrap(note, _SIZE, wide - 0.2)]
    lines = lines if target.style == "screen" else []
    height = sum(heights) + 0.3 + _TEXT * (1.2 * len(head) - 1 + len(lines))
    if wide < _LEAST or (target.height is not None and target.height < 0.9 * height * unit):
        raise target.too_small("decision path", max(wide, _LEAST) * unit, height * unit)
    options |= {"figsize": (wide * unit, target.height or height * unit), "dpi": target.dpi}
    options |= {"height_ratios": heights, "layout": "constrained", "squeeze": False}
    figure, axes = plt.subplots(len(heights), n_columns, **options)
    figure.caption, style = " ".join(notes), {"x": 0.01, "ha": "left", "parse_math": False}
    figure.suptitle("\n".join(head), fontweight="bold", **style)
    if lines:
        figure.supxlabel("\n".join(lines), fontsize=font_size(), **style)
    return figure, axes


def _draw_products(ax, test, image):
    """Draw the products of a test as pixels over the pale image."""
    products = np.zeros(image.size)
    for term in test.contributions:
        products[term.feature] = term.product
    limit = np.abs(products).max() or 1.0
    low, high = float(image.min()), float(image.max())
    ax.imshow(image, cmap="gray_r", vmin=low, vmax=low + (high - low) / PALE)
    shown = np.ma.masked_equal(products.reshape(image.shape), 0.0)
    ax.imshow(shown, cmap=SIGNED, vmin=-limit, vmax=limit)
    for term in test.contributions:
        if term.product:  # an outline, because small products are pale
            corner = term.feature % image.shape[1] - 0.5, term.feature // image.shape[1] - 0.5
            color = POSITIVE if term.product > 0 else NEGATIVE  # the image has its own ground
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=color, linewidth=0.6))
    tested = np.array([term.feature for term in test.contributions if term.product == 0], dtype=int)
    ax.plot(tested % image.shape[1], tested // image.shape[1], "x", color="0.3", markersize=3)
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set(visible=True, color=ink("0.5"))


def _draw_signs(ax, test, wide):
    """Draw the sums of the positive and of the negative products, and their total."""
    steps, names, start = [], [], 0.0
    for name, sign in (("red", 1), ("blue", -1)):
        products = [term.product for term in test.contributions if sign * term.product > 0]
        total = math.fsum(products)
        steps.append((total, start))
        pixels = f"{len(products)} {name} pixel{'s' if len(products) != 1 else ''}"
        names.append(f"{pixels} = {number(total)}" if products else pixels)
        start += total
    n_zero = sum(term.product == 0 for term in test.contributions)
    _write_outcome(ax, test, wide)
    _draw_sum(ax, test, [*([name] for name in names), ["sum"]], steps)
    if n_zero:
        pixels = f"{n_zero} tested pixel{'s are' if n_zero != 1 else ' is'} 0 here (crosses)"
        ax.set_xlabel(pixels)


def _how_to_read(tests, note):
    """Return what explains a decision path: what is drawn, and the note on short names."""
    are_sums = {test.bound is None for test in tests if test.fact is None}
    texts = _OF_SUMS * (True in are_sums) + _OF_VALUES * (False in are_sums)
    return [f"{texts[0]} In names, {note}.", *texts[1:]] if note and texts else texts


def _height(test, labels, wide):
    """Return the height of the axes of a test, with its title."""
    n_more = len(_outcome_lines(test, wide)) - 1
    around, has_two = _LINE, any(len(lines) > 1 for lines in labels)
    around = around if test.fact is not None else _AROUND
    return around + n_more * _TEXT + len(labels) * _LINE * (1.0 + 0.4 * has_two)


def _labels(test, abbreviate, width):
    """Return the lines of the label beside each bar of a test."""
    if test.fact is not None:
        return []
    if test.bound is not None:
        return [name_lines(abbreviate(tested_name(test.contributions[0].name)), _SIZE, width)]
    steps = test.steps
    return [*(_term_label(abbreviate(name), text, width) for name, text, *_ in steps), ["sum"]]


def _term_label(name, number, width):
    """Return the label of a bar as at most two lines, of which the number is never cut."""
    name = re.sub("^-", _MINUS, name)  # of the weight
    end = f"= {number.replace('-', _MINUS)}"
    if text_width(f"{name} {end}", _SIZE) <= width:
        return [f"{name} {end}"]
    for n_lines in (2, 1):
        *lines, last = name_lines(name, _SIZE, width, n_lines)
        if text_width(f"{last} {end}", _SIZE) <= width:
            return [*lines, f"{last} {end}"]
    return [last, end]


def _draw_sum(ax, test, labels, steps):
    """Draw steps (product, start) as bars that add up, the sum and the threshold."""
    for line, (product, start) in enumerate(steps):
        color, end = ink(POSITIVE if product > 0 else NEGATIVE), start + product
        ax.barh(line, product, 0.7, left=start, color=color)
        ax.plot([end, end], [line - 0.35, line + 1.35], color=ink("0.6"), linewidth=0.6)
    ax.barh(len(steps), test.total, 0.7, color=ink("0.3"))
    label_bars(ax, labels)
    ax.axvline(0.0, color=ink("0.75"), linewidth=0.6, zorder=0)
    starts = [start for _, start in steps]
    ends = [start + product for product, start in steps]
    _draw_limit(ax, test.threshold, [0.0, test.total, *starts, *ends])


def _draw_value(ax, test, labels):
    """Draw a test of one feature: the value of the row and the threshold."""
    (term,) = test.contributions
    ax.plot([test.bound.value, term.value], [0, 0], color=ink(_PALE), linewidth=3, zorder=1)
    ax.plot([term.value], [0], "o", color=ink("0.3"), markersize=6)
    label_bars(ax, labels)
    if value_text(term.name, term.value):
        ax.xaxis.set_major_formatter(lambda x, _: value_text(term.name, x))
        ax.xaxis.set_major_locator(MaxNLocator(4))
    _draw_limit(ax, test.bound.value, [term.value])


def _write_outcome(ax, test, wide):
    """Write the outcome above a test."""
    text = "\n".join(_outcome_lines(test, wide))
    ax.set_title(text, loc="left", fontsize=font_size(), parse_math=False)


def _outcome_lines(test, wide):
    """Return the outcome of a test; a long name of a single feature is only beside the axis."""
    outcome, width = typeset(test.outcome), (1 - _NAMES) * wide - 0.3
    if test.fact is None:
        name = "sum" if test.bound is None else tested_name(test.contributions[0].name)
        compared = minus_signs(outcome.removeprefix(name))
        is_long = test.bound is not None and text_width(outcome, _SIZE) > width
        outcome = f"{'value' if is_long else name}{compared}"
    text = f"node {test.node}: {outcome} \N{RIGHTWARDS ARROW} the row goes {test.side}"
    return name_lines(text, _SIZE, width, 6, " ")


def _draw_limit(ax, limit, values):
    """Draw the threshold of a test, with the ends of the x axis a little beyond it and values."""
    ax.axvline(limit, color=ink("0.0"), linewidth=1.2, linestyle="--")
    low, high = min(limit, *values), max(limit, *values)
    beyond = 0.05 * (high - low) or 0.5 * abs(low) or 1.0
    ax.set_xlim(low - beyond, high + beyond)
