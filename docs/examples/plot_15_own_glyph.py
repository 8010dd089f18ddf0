"""
Nodes drawn by yourself
=======================

A glyph is an object that draws a test or a leaf into a box. This one inherits the bars and
writes the most important feature of a test in large letters.
"""

from sklearn.datasets import load_wine

from tao_cluster import TAOClustering
from tao_cluster.plot import Bars, plot_tree


class Headline(Bars):
    """Bars at the leaves; at the tests the feature of most effect."""

    test_height = 0.4

    def draw_test(self, ax, box, split):
        """Write its name."""
        box.write(ax, split.terms[0]["name"], 9)


wine = load_wine(as_frame=True).data
model = TAOClustering(3, standardize=True, max_parameters=10, random_state=0).fit(wine)
axes = plot_tree(model, wine, nodes=Headline(list(wine.columns)))
