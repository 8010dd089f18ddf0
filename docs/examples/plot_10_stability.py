"""
Stability of a tree
===================

The model is refitted to resamples of the rows and with other seeds. The picture shows how well the
refits agree, their cost, and the features that they test.
"""

from sklearn.datasets import load_wine

from greedy import ExShallow
from tao_cluster import TAOClustering, stability

wine = load_wine(as_frame=True).data
found = stability(ExShallow(3, standardize=True), wine, n=12, random_state=0)
figure = found.plot()

# %%
# The same for an oblique tree:

model = TAOClustering(3, lambda_=30, standardize=True)
figure = stability(model, wine, n=6, random_state=0).plot()
