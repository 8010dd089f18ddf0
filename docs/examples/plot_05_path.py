"""
Cost against size along lambda
==============================

Ten trees from large to small, and the knee, from which the search of ``TAOClustering()`` starts.
Every point is a fitted model: ``models[4].plot()`` draws one of them.
"""

from sklearn.datasets import load_digits

from tao_cluster import tao_path
from tao_cluster.plot import plot_path

X = load_digits().data / 16
models = tao_path(X, 10, random_state=0)
axes = plot_path(models, title="digits")
