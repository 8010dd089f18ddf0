"""
Cost against size along lambda
==============================

Ten trees from nearly free to tiny, and the knee, which is what ``TAOClustering()`` starts from.
Every point is a fitted model: ``models[4].plot()``.
"""

from sklearn.datasets import load_digits

from tao_cluster import tao_path
from tao_cluster.plot import plot_path

X = load_digits().data / 16
models = tao_path(X, 10, random_state=0)
axes = plot_path(models, title="digits")
