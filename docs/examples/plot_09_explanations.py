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

# %%
# For images, the terms of a test are pixels over the image. Red pixels add to the sum, blue ones
# subtract from it, and crosses mark tested pixels that are 0 in this image.

from sklearn.datasets import load_digits

from tao_cluster import DirectForm

digits = load_digits().data / 16
search = DirectForm(search="fast")
model = TAOClustering(10, lambda_=8, algorithm=search, random_state=0).fit(digits)
axes = model.explain(digits[3]).plot(image_shape=(8, 8))
