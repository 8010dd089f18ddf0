"""
A tree of documents
===================

Sparse rows are drawn as words. Tests show the words of largest effect, and red words push a row to
the right. Leaves show the words of largest mean. The documents are the paragraphs that describe the
data sets of scikit-learn.
"""

import numpy as np
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfVectorizer

from tao_cluster import TAOClustering
from tao_cluster.plot import plot_tree

names = ("breast_cancer", "diabetes", "digits", "iris", "linnerud", "wine")
texts, source = [], []
for number, name in enumerate(names):
    paragraphs = getattr(datasets, f"load_{name}")().DESCR.split("\n\n")
    long = [text for text in paragraphs if len(text) > 60]
    texts += long
    source += [number] * len(long)
vectorizer = TfidfVectorizer(stop_words="english", token_pattern="[a-z]{3,}", min_df=2)
X = vectorizer.fit_transform(texts)
texts_of_words = np.diff(X.indptr) > 0
X, source = X[texts_of_words], np.array(source)[texts_of_words]
words = vectorizer.get_feature_names_out()

model = TAOClustering(5, objective="spherical", lambda_=0.02, random_state=0).fit(X)
axes = plot_tree(
    model, X, y=source, class_names=names, nodes="words", feature_names=words, title="paragraphs"
)
