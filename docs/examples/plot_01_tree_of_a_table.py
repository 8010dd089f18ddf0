"""
A tree of a table
=================

Wine.
"""

from sklearn.datasets import load_wine

from tao_cluster import TAOClustering

wine = load_wine(as_frame=True)
model = TAOClustering(3, standardize=True, random_state=0).fit(wine.data)
model.plot(X=wine.data, y=wine.target)
