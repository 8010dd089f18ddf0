"""
The optimisation history
========================

The picture shows the cost of every tree that the fit has evaluated, with one line per stage:
initial trees, passes over the tests, refits, passes that lower the cost directly, and the search
for another structure. Hollow points are trees that were not kept, because a tree before them in
their stage was better. The dashed line is the result. The picture shows whether more passes or a
longer search would have helped.
"""

from sklearn.datasets import load_digits

from tao_cluster import TAOClustering
from tao_cluster.plot import plot_history

X = load_digits().data / 16
model = TAOClustering(10, lambda_=1, random_state=0).fit(X)
axes = plot_history(model, title="direct form")

# %%
# The algorithm of the paper has a penalty that grows.

from tao_cluster import PenaltyMethod

steps = PenaltyMethod(mu_factor=1.5, n_mu_steps=20, refine=False)
model = TAOClustering(10, lambda_=1, algorithm=steps, random_state=0).fit(X)
axes = plot_history(model, title="penalty method")
