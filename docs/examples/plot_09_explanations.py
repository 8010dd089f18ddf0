"""
Why is this row there?
======================

A row's tests as bars that add up: every bar begins where the one above it ends, the dark one is
the sum, the line the threshold.
"""

from sklearn.datasets import load_wine

from tao_cluster import TAOClustering

wine = load_wine(as_frame=True).data
model = TAOClustering(3, standardize=True, random_state=0).fit(wine)
why = model.explain(wine.iloc[[100]])
print(why)
axes = why.plot()

# %%
# The least change that would send it to another cluster:

print(model.nearest_change(wine.iloc[[100]], 2))

# %%
# The features that lead to a cluster, with their direction:

profile = model.cluster_profile(1)
print(profile)
axes = profile.plot()
