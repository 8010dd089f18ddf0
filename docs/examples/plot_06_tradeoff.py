"""
Several methods in one plot
===========================

Fitted models of any kind are drawn on the same axes. They should explain the same clustering; here
it is the k-means clustering of the first model.
"""

from sklearn.datasets import load_breast_cancer

from greedy import CART, ExKMC, ExShallow, Kauri
from tao_cluster import TAOClustering
from tao_cluster.plot import plot_tradeoff

cells = load_breast_cancer(as_frame=True).data
options = {"standardize": True, "random_state": 0}
models = [TAOClustering(5, max_parameters=n, **options).fit(cells) for n in (14, 20, 30)]
options["reference"] = models[0].free_centers_
models += [
    make(5, max_leaves=n, **options).fit(cells) for make in (CART, ExKMC, Kauri) for n in (5, 8, 12)
]
models += [ExShallow(5, **options).fit(cells)]
axes = plot_tradeoff(models)

# %%
# ``compare`` does the same in one call. If it holds out rows, its picture shows the costs on these
# rows. ``found.plot(new=False)`` shows the costs of the fits, with the whole curve of ExKMC. A
# method has the same colour and marker in both pictures.

from tao_cluster import compare

found = compare(
    cells,
    5,
    methods=["tao", "exkmc", "exshallow", "cart"],
    standardize=True,
    validation=0.3,
    random_state=0,
)
axes = found.plot()
