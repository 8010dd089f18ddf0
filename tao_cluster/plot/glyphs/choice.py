"""Which glyph a picture of a tree is drawn with."""

from ...inspection.rows import picture_kind
from .base import Glyph
from .image import Image
from .lists import Bars, Words
from .projection import Projection


def choose_glyph(nodes, tree, rows, image_shape, feature_names):
    """The glyph object that `nodes` of :func:`tao_cluster.plot.plot_tree` stands for.

    Raises
    ------
    ValueError
        If `nodes` is unknown, or what it needs is missing.
    """
    if image_shape is not None and image_shape[0] * image_shape[1] != tree.n_features:
        raise ValueError(f"image_shape {image_shape} does not hold {tree.n_features} features.")
    if not isinstance(nodes, str):
        if isinstance(nodes, Glyph):
            return nodes
        raise ValueError(f"nodes must be {_CHOICES}; got {nodes!r}.")
    if nodes == "auto":
        nodes = picture_kind(tree, rows, image_shape, feature_names)
    if nodes not in _MAKERS:
        raise ValueError(f"nodes must be {_CHOICES}; got {nodes!r}.")
    return _MAKERS[nodes](tree, rows, image_shape, feature_names)


def _make_image(tree, rows, image_shape, feature_names):
    if image_shape is None:
        raise ValueError("nodes='image' needs image_shape, the height and width of a picture.")
    return Image.of(image_shape, rows is not None)


def _make_projection(tree, rows, image_shape, feature_names):
    if rows is None:
        raise ValueError("nodes='projection' needs X, the rows whose sums w.x it shows.")
    leaves = _MAKERS[picture_kind(tree, rows, image_shape, feature_names)]
    return Projection(leaves(tree, rows, image_shape, feature_names), feature_names)


_MAKERS = {
    "image": _make_image,
    "words": lambda tree, rows, image_shape, names: Words(names),
    "bars": lambda tree, rows, image_shape, names: Bars.of(tree, names),
    "projection": _make_projection,
}
_CHOICES = f"{', '.join(map(repr, ('auto', *_MAKERS)))} or an object with draw_test and draw_leaf"
