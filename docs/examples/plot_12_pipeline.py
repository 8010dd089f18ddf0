"""
Units and categories in a pipeline
==================================

The penguin data have missing values, numbers in several units and two columns of categories. The
pictures of a pipeline use the raw columns: scaling is undone, and a one-hot column is shown as
``island is Dream``.
"""

from palmerpenguins import load_penguins
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tao_cluster import TAOClustering
from tao_cluster.export import to_rules
from tao_cluster.plot import plot_tree

penguins = load_penguins().drop(columns=["species", "year"]).dropna(subset=["sex"])
numbers = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
steps = make_column_transformer(
    (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
    (OneHotEncoder(), ["island", "sex"]),
)
tree = TAOClustering(4, split="axis", max_leaves=5, random_state=0)
pipeline = make_pipeline(steps, tree).fit(penguins)
for rule in to_rules(pipeline):
    print(rule)
axes = plot_tree(pipeline, penguins)
