"""
A tree of images
================

With ``image_shape``, the picture draws the weights of a test at the positions of their pixels,
over the pale mean of the images at this node. Red pixels push an image to the right, and blue
pixels push it to the left.
"""

from sklearn.datasets import load_digits

from tao_cluster import DirectForm, TAOClustering
from tao_cluster.plot import plot_tree

digits = load_digits()
X = digits.data / 16
model = TAOClustering(10, lambda_=8, algorithm=DirectForm(search="fast"), random_state=0).fit(X)
axes = plot_tree(model, X, y=digits.target, image_shape=(8, 8))

# %%
# Panels show which pixels are tested, the centres of the clusters, and the optimisation history.

axes = plot_tree(model, X, image_shape=(8, 8), panels=("mask", "centers", "history"), max_depth=2)
