"""
Tests of single columns
=======================

A test of one column is written as a condition. Large trees are easier to read from left to right
and without their deepest levels. The decision path of one row is marked.
"""

from sklearn.datasets import load_breast_cancer

from greedy import ExKMC
from tao_cluster.plot import plot_tree

cells = load_breast_cancer(as_frame=True).data
model = ExKMC(5, max_leaves=12, standardize=True, random_state=0).fit(cells)
options = {"orientation": "horizontal", "max_depth": 4, "width": 10}
axes = plot_tree(model, cells, highlight=cells.iloc[[7]], title="row 7", **options)

# %%
# ``nodes="projection"`` shows how clearly each test separates the rows: a histogram of the tested
# values, in the units of the columns and stacked by cluster. Rows on the grey side go left.

from tao_cluster import TAOClustering

oblique = TAOClustering(3, standardize=True, max_parameters=12, random_state=0).fit(cells)
axes = plot_tree(oblique, cells, nodes="projection")
