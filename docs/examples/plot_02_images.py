"""
A tree of images
================

With ``image_shape`` the weights of a test are drawn where their pixels are, over the pale mean
of the images that come there: red pixels push an image to the right, blue ones to the left.
"""

from sklearn.datasets import load_digits

from tao_cluster import DirectForm, TAOClustering
from tao_cluster.plot import plot_tree

digits = load_digits()
X = digits.data / 16
model = TAOClustering(10, lambda_=8, algorithm=DirectForm(search="fast"), random_state=0).fit(X)
axes = plot_tree(model, X, y=digits.target, image_shape=(8, 8))

# %%
# Panels show which pixels are tested at all, the centres of the clusters, and the course of the
# fit.

axes = plot_tree(model, X, image_shape=(8, 8), panels=("mask", "centers", "history"), max_depth=2)
