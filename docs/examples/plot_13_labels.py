"""
Labels of another clustering
============================

HDBSCAN finds clusters of any shape and marks noise by -1. ``objective="labels"`` explains its
labels by a tree. Noise, the few dark points here, does not count. ``plot_regions`` needs centres,
so matplotlib draws the regions of the tree here, in the colours of its picture.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_moons

from tao_cluster import TAOClustering
from tao_cluster.plot import cluster_color
from tao_cluster.plot import save_tree

X, _ = make_moons(400, noise=0.06, random_state=0)
labels = HDBSCAN(min_cluster_size=20, copy=True).fit_predict(X)
model = TAOClustering(objective="labels", depth=3, random_state=0).fit(X, labels)
print(f"{model.cost_increase_:.1f} % of the rows are elsewhere")

grid = np.stack(np.meshgrid(np.linspace(-1.5, 2.5, 300), np.linspace(-1, 1.5, 200)), axis=-1)
regions = model.predict(grid.reshape(-1, 2)).reshape(200, 300)
_, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
colors = [cluster_color(label) for label in model.classes_]
levels = np.arange(len(colors) + 1) - 0.5
ax.contourf(grid[..., 0], grid[..., 1], regions, alpha=0.35, levels=levels, colors=colors)
ax.scatter(*X.T, c=[colors[label] if label >= 0 else "0.1" for label in labels], s=6)
ax.set_title("rows by HDBSCAN, regions by the tree", loc="left")

# %%
# ``save_tree`` writes the picture of the tree to a file.

import tempfile
from pathlib import Path

path = Path(tempfile.mkdtemp()) / "moons.png"
save_tree(path, model, X)
picture = plt.imread(path)
_, ax = plt.subplots(figsize=(7, 7 * picture.shape[0] / picture.shape[1]), layout="constrained")
ax.imshow(picture)
ax.set_axis_off()
