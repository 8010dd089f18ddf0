"""
A tree of a table
=================

Bars are the features of a test, longer where they matter more; leaves show how their rows
differ from the mean. Everything is in the units of the table, as the columns are only
standardised for distances.
"""

from sklearn.datasets import load_wine

from tao_cluster import TAOClustering
from tao_cluster.plot import plot_tree

wine = load_wine(as_frame=True)
model = TAOClustering(3, standardize=True, random_state=0).fit(wine.data)
axes = plot_tree(model, wine.data)

# %%
# With `y`, which took no part in the fit, leaves show the shares of the true classes. Fewer
# parameters were asked for here.

small = TAOClustering(3, standardize=True, max_parameters=8, random_state=0).fit(wine.data)
cultivars = ["cultivar 1", "cultivar 2", "cultivar 3"]
axes = plot_tree(small, wine.data, y=wine.target, class_names=cultivars, title="wine, 8 parameters")
