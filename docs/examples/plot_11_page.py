"""
The page
========

A model as the last line of a notebook cell shows an interactive page, and
``model.to_html("tree.html", X=X)`` writes it to a file. On the page one can fold and zoom the tree,
search for a feature, and follow a row, also one that is typed in.
"""

# sphinx_gallery_thumbnail_path = "_static/page.png"
from sklearn.datasets import load_wine

from tao_cluster import TAOClustering
from tao_cluster.page import to_frame

wine = load_wine(as_frame=True)
model = TAOClustering(3, standardize=True, max_parameters=8, random_state=0).fit(wine.data)


class Page:
    """What a notebook shows."""

    def _repr_html_(self):
        """The page in a frame."""
        return to_frame(model, X=wine.data, y=wine.target)


Page()
