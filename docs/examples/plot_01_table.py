"""
A tree of a table
=================

The bars of a test are its features, and longer bars matter more. Leaves show how their rows differ
from the mean. All numbers are in the units of the table; columns are standardised only for the
distances.
"""

from sklearn.datasets import load_wine

from tao_cluster import TAOClustering
from tao_cluster.plot import plot_tree

wine = load_wine(as_frame=True)
model = TAOClustering(3, standardize=True, random_state=0).fit(wine.data)
axes = plot_tree(model, wine.data)

# %%
# With `y`, which the fit did not use, leaves show the shares of the true classes. The limit on the
# parameters makes this tree smaller.

small = TAOClustering(3, standardize=True, max_parameters=8, random_state=0).fit(wine.data)
cultivars = ["cultivar 1", "cultivar 2", "cultivar 3"]
axes = plot_tree(small, wine.data, y=wine.target, class_names=cultivars, title="wine, 8 parameters")
