"""Pictures of a decision path and of the features of a cluster."""

import math
import re

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from ..columns.names import Abbreviation, brief
from ..export.format import minus_signs, tested_name, typeset, value_text
from ..inspection.palette import NEGATIVE, POSITIVE
from ..inspection.rows import check_image_shape
from .boxes import name_lines, text_width, wrap
from .glyphs import PALE, SIGNED
from .split_view import number
from .style import STYLE, drawable, drawn_with, make_drawable

# In inches: width of a figure (_WIDTH), height of a bar (_LINE), height of the title and the axis
# of one test (_AROUND). _DPI is in dots per inch.
_WIDTH, _LINE, _AROUND, _DPI = 6.4, 0.21, 0.62, 100
_LONGEST_TITLE = 100  # characters; the layout would shrink the axes for a longer title
_PALE = "0.87"
_NOTE_SIZE, _NOTE_LINE = 7, 0.14  # of the lines below a figure: points, and inches per line
_MINUS = "\N{MINUS SIGN}"
_OF_SUMS = (
    "Each bar is weight * value of a feature and begins where the bar above it ends. The dark bar "
    "is their sum. The row goes left if the sum is at most the threshold (dashed line)."
)
_OF_VALUES = "The point is the value of the row, and the dashed line is the threshold."
_OF_IMAGES = (
    "Grey: the image of the row. Red pixels add weight * value to the sum, blue pixels subtract "
    "from it; the darker the colour, the larger is the product. The title of a test compares the "
    "sum (dark bar) with the threshold (dashed line)."
)
_NAMES_WIDTH = 2.1  # inches, of a name beside a bar; longer names get two lines
_TITLE_WIDTH = 4.0  # inches, of the outcome above a test
_IMAGE = 1.35  # inches, longer side of an image beside its sum


def plot_decision_path(tests, title):
    """Draw the tests of one decision path, one below the other.

    A test of several features is drawn as a sum: each bar begins where the bar above it ends, the
    dark bar is the sum, and the dashed line is the threshold. For a test of one feature, the point
    is the value. A test on the levels of a categorical column is written.

    Parameters
    ----------
    tests : sequence of :class:`tao_cluster.explanations.PathTest`
    title : str

    Returns
    -------
    matplotlib Figure
        With axes for each test; a single empty one if there are no tests.
    """
    heights = [_height(test) for test in tests] or [_AROUND]
    names = [tested_name(term.name) for test in tests for term in test.contributions]
    abbreviate = Abbreviation.from_names(names)
    with drawn_with(STYLE):
        lines = _how_to_read(tests, abbreviate.note)
        figure, axes = plt.subplots(
            len(heights),
            figsize=(_WIDTH, sum(heights) + 0.3 + _NOTE_LINE * len(lines)),
            height_ratios=heights,
            dpi=_DPI,
            layout="constrained",
            squeeze=False,
        )
        axes = axes[:, 0]
        for ax, test in zip(axes, tests, strict=False):
            if test.fact is not None:
                _write_outcome(ax, test)
                ax.set_axis_off()
            elif test.bound is None:
                steps = test.steps
                labels = [_term_label(abbreviate(name), text) for name, text, *_ in steps]
                _draw_sum(ax, test, labels, [step[2:] for step in steps])
            else:
                _draw_value(ax, test, abbreviate)
        if not tests:
            axes[0].set_axis_off()
        _write_title(figure, title, lines)
        make_drawable(figure, names)
    return figure


def plot_image_path(tests, title, row, image_shape):
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

    Returns
    -------
    matplotlib Figure
        With two axes for each test, for the image and for the bars; empty ones without tests.
    """
    check_image_shape(image_shape, row.shape[1])
    image = (row.toarray() if sp.issparse(row) else row).reshape(image_shape)
    n = max(1, len(tests))
    side = _IMAGE * image_shape[1] / max(image_shape)
    with drawn_with(STYLE):
        lines = wrap(_OF_IMAGES, _NOTE_SIZE, _WIDTH - 0.2) if tests else []
        figure, axes = plt.subplots(
            n,
            2,
            figsize=(_WIDTH, n * (_IMAGE + 0.25) + 0.3 + _NOTE_LINE * len(lines)),
            width_ratios=[side, _WIDTH - side],
            dpi=_DPI,
            layout="constrained",
            squeeze=False,
        )
        for (left, right), test in zip(axes, tests, strict=False):
            _draw_products(left, test, image)
            _draw_signs(right, test)
        if not tests:
            for ax in axes[0]:
                ax.set_axis_off()
        _write_title(figure, title, lines)
        make_drawable(figure)
    return figure


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
            color = POSITIVE if term.product > 0 else NEGATIVE
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=color, linewidth=0.6))
    tested = np.array([term.feature for term in test.contributions if term.product == 0], dtype=int)
    ax.plot(tested % image.shape[1], tested // image.shape[1], "x", color="0.55", markersize=3)
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)
    for spine in ax.spines.values():
        spine.set(visible=True, color="0.5")


def _draw_signs(ax, test):
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
    _draw_sum(ax, test, [[name] for name in names], steps)
    if n_zero:
        pixels = f"{n_zero} tested pixel{'s are' if n_zero != 1 else ' is'} 0 here (crosses)"
        ax.set_xlabel(pixels, fontsize=7, color="0.4")


def _how_to_read(tests, note):
    """Return the lines below a decision path: what is drawn, and the note on short names."""
    texts = []
    if any(test.bound is None and test.fact is None for test in tests):
        texts.append(_OF_SUMS)
    if any(test.bound is not None and test.fact is None for test in tests):
        texts.append(_OF_VALUES)
    texts += [f"In names, {note}."] if note else []
    return [line for text in texts for line in wrap(text, _NOTE_SIZE, _WIDTH - 0.2)]


def _write_title(figure, title, lines):
    """Write the title of a figure, and small lines below all axes."""
    style = {"x": 0.01, "ha": "left", "parse_math": False}
    figure.suptitle(brief(title, _LONGEST_TITLE), fontweight="bold", **style)
    if lines:
        figure.supxlabel("\n".join(lines), fontsize=_NOTE_SIZE, color="0.3", **style)


def _height(test):
    """Return the height of the axes of a test, with its title, in inches."""
    if test.fact is not None:
        return 1.2 * _LINE
    return (len(test.steps) + (test.bound is None)) * _LINE + _AROUND


def _term_label(name, number):
    """Return the label of a bar as at most two lines, of which the number is never cut."""
    name = re.sub("^-", _MINUS, name)  # of the weight
    end = f"= {number.replace('-', _MINUS)}"
    if text_width(f"{name} {end}", 8) <= _NAMES_WIDTH:
        return [f"{name} {end}"]
    for n_lines in (2, 1):
        *lines, last = name_lines(name, 7, _NAMES_WIDTH, n_lines)
        if text_width(f"{last} {end}", 7) <= _NAMES_WIDTH:
            return [*lines, f"{last} {end}"]
    return [last, end]


def _draw_sum(ax, test, labels, steps):
    """Draw steps (product, start) as bars that add up, the sum and the threshold."""
    for line, (product, start) in enumerate(steps):
        color, end = POSITIVE if product > 0 else NEGATIVE, start + product
        ax.barh(line, product, 0.7, left=start, color=color)
        ax.plot([end, end], [line - 0.35, line + 1.35], color="0.6", linewidth=0.6)
    ax.barh(len(steps), test.total, 0.7, color="0.3")
    _write_labels(ax, [*labels, ["sum"]])
    ax.axvline(0.0, color="0.75", linewidth=0.6, zorder=0)
    _draw_limit(ax, test, test.threshold)
    starts = [start for _, start in steps]
    ends = [start + product for product, start in steps]
    _make_room(ax, [0.0, test.total, test.threshold, *starts, *ends])


def _draw_value(ax, test, abbreviate):
    """Draw a test of one feature: the value of the row and the threshold."""
    (term,) = test.contributions
    ax.plot([test.bound.value, term.value], [0, 0], color=_PALE, linewidth=5, zorder=1)
    ax.plot([term.value], [0], "o", color="0.3", markersize=6)
    _write_labels(ax, [name_lines(abbreviate(tested_name(term.name)), 8, _NAMES_WIDTH)])
    if value_text(term.name, term.value):
        ax.xaxis.set_major_formatter(lambda x, _: value_text(term.name, x))
        ax.xaxis.set_major_locator(MaxNLocator(4))
    _draw_limit(ax, test, test.bound.value)
    _make_room(ax, [term.value, test.bound.value])


def _draw_limit(ax, test, value):
    """Draw the threshold, and write the outcome of the test above it."""
    ax.axvline(value, color="black", linewidth=1.2, linestyle="--")
    _write_outcome(ax, test)


def _write_outcome(ax, test):
    """Write the outcome above a test; a long name of a single feature is only at the axis."""
    outcome = typeset(test.outcome)
    if test.fact is None:
        name = "sum" if test.bound is None else tested_name(test.contributions[0].name)
        compared = minus_signs(outcome.removeprefix(name))
        is_long = test.bound is not None and text_width(outcome, 8) > _TITLE_WIDTH
        outcome = f"{'value' if is_long else name}{compared}"
    text = f"node {test.node}: {outcome} \N{RIGHTWARDS ARROW} the row goes {test.side}"
    ax.set_title(brief(text, _LONGEST_TITLE), loc="left", fontsize=8, parse_math=False)


def _make_room(ax, values):
    """Set the limits of the x axis a little beyond all values."""
    low, high = min(values), max(values)
    beyond = 0.05 * (high - low) or 0.5 * abs(low) or 1.0
    ax.set_xlim(low - beyond, high + beyond)


def _write_labels(ax, labels):
    """Write the lines of a label beside each bar, from top to bottom, without horizontal grid."""
    found = [drawable("\n".join(lines)) for lines in labels]
    size = 8 if all("\n" not in one.text for one in found) else 7
    ax.set_yticks(range(len(labels)), [one.text for one in found], fontsize=size, linespacing=0.95)
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")
    ax.set_axisbelow(True)
