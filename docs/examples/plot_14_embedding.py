"""
Clusters of an embedding, explained by raw columns
==================================================

Digits are clustered by ten principal components. The tree does not use the components: it tests
pixels.
"""

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from tao_cluster import TAOClustering
from tao_cluster.plot import plot_tree

digits = load_digits()
X = digits.data / 16
scores = PCA(10, random_state=0).fit_transform(X)
model = TAOClustering(6, max_cost_increase=5, random_state=0).fit(X, embedding=scores)
axes = plot_tree(model, X, image_shape=(8, 8), title=f"{model.cost_increase_:.1f} % above k-means")
