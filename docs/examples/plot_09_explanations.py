"""
Why is this row in its cluster?
===============================

The tests of a row are drawn as bars that add up. Every bar begins where the previous one ends. The
grey bar is the sum, and the line is the threshold.
"""

from sklearn.datasets import load_wine

from tao_cluster import TAOClustering

wine = load_wine(as_frame=True).data
model = TAOClustering(3, standardize=True, random_state=0).fit(wine)
why = model.explain(wine.iloc[[100]])
print(why)
figure = why.plot()

# %%
# This is the smallest change that moves the row to another cluster:

print(model.nearest_change(wine.iloc[[100]], 2))

# %%
# Each cluster has a card with its rule, and with the columns that differ most from all rows:

figure = model.describe(wine, rows="wines").plot()

# %%
# For images, the terms of a test are pixels over the image. Red pixels add to the sum, blue ones
# subtract from it, and crosses mark tested pixels that are 0 in this image.

from sklearn.datasets import load_digits

from tao_cluster import DirectForm

digits = load_digits().data / 16
search = DirectForm(search="fast")
model = TAOClustering(10, lambda_=8, algorithm=search, random_state=0).fit(digits)
figure = model.explain(digits[3]).plot(image_shape=(8, 8))
