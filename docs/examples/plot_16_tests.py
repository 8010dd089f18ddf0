"""
The rows at a test
==================

A test of two features is a line in their plane. ``plot_test`` draws the rows of its node in the
colours of their clusters, in the units of the table. Rows on the grey side go left.
"""

from sklearn.datasets import load_wine

from tao_cluster import TAOClustering
from tao_cluster.plot import plot_test, plot_tests

wine = load_wine(as_frame=True).data
model = TAOClustering(3, standardize=True, max_parameters=8, random_state=0).fit(wine)
print(model.to_text())
axes = plot_test(model, 0, wine)

# %%
# ``plot_tests`` draws all tests of a tree. A test of one feature is a histogram of the feature. A
# test of three or more features is a histogram of their weighted sum.

axes = plot_tests(model, wine)

# %%
# The same histograms can stand in the tree itself.

from tao_cluster.plot import plot_tree

axes = plot_tree(model, wine, nodes="projection")

# %%
# A tree of many clusters is often a chain: each test separates one cluster. Such a tree is drawn
# in columns that are read one after the other.

from sklearn.datasets import load_digits

from greedy import ExKMC

digits = load_digits().data
chain = ExKMC(20, max_leaves=20, random_state=0).fit(digits)
axes = plot_tree(chain, digits, nodes="bars", width=9)
