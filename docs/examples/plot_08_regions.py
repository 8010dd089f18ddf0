"""
Regions in the plane
====================

For two columns, the left half shows the regions of the nearest centres, and the right half shows
the leaves of the tree. Rows have the colour of their nearest centre in both halves, so that rows
that the tree assigns to another cluster stand out.
"""

from sklearn.datasets import load_iris

from greedy import IMM
from tao_cluster import TAOClustering
from tao_cluster.plot import plot_regions

X = load_iris().data[:, [0, 2]]
axes = plot_regions(TAOClustering(4, random_state=0).fit(X), X, title="oblique")

# %%
# With tests of one column, the borders are parallel to the axes.

axes = plot_regions(IMM(4, random_state=0).fit(X), X, title="IMM")
