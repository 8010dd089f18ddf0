"""The facade: what people read of a tree, as methods of trees and of fitted estimators.

The only file whose functions import modules of higher layers: its methods only call them.
"""


class Readable:
    """Base of what has a tree to show: a Tree, or an estimator with `tree_`."""

    def to_text(self, feature_names=None, **options):
        """The tree as indented text; see :func:`tao_cluster.export.to_text`."""
        from ..export import to_text

        return to_text(self, feature_names, **options)

    def to_rules(self, feature_names=None, **options):
        """One "if ... then cluster" sentence a leaf; see :func:`tao_cluster.export.to_rules`."""
        from ..export import to_rules

        return to_rules(self, feature_names, **options)

    def plot(self, **options):
        """Draw the tree with matplotlib; see :func:`tao_cluster.plot.plot_tree`."""
        from ..plot import plot_tree

        return plot_tree(self, **options)

    def to_html(self, path=None, **options):
        """A page on which the tree can be explored; see :func:`tao_cluster.page.to_html`."""
        from ..page import to_html

        return to_html(self, path, **options)

    def explain(self, x, feature_names=None, **options):
        """Why rows are in their clusters; see :func:`tao_cluster.explanations.explain`."""
        from ..explanations import explain

        return explain(self, x, feature_names, **options)

    def nearest_change(self, x, k, **options):
        """What sends a row to cluster k; see :func:`tao_cluster.explanations.nearest_change`."""
        from ..explanations import nearest_change

        return nearest_change(self, x, k, **options)

    def cluster_profile(self, k, X=None, **options):
        """What defines a cluster; see :func:`tao_cluster.explanations.cluster_profile`."""
        from ..explanations import cluster_profile

        return cluster_profile(self, k, X, **options)

    def save(self, path):
        """Write it to a file of JSON, which :func:`tao_cluster.load` reads."""
        from ..saving import save

        save(self, path)

    def to_sql(self, columns=None, *, table=None):
        """Return the cluster as an SQL expression; see :func:`tao_cluster.export.to_sql`."""
        from ..export import to_sql

        return to_sql(self, columns, table=table)

    def to_dot(
        self,
        feature_names=None,
        precision=3,
        *,
        max_terms=6,
        X=None,
        sample_weight=None,
        scaled=False,
    ):
        """Return the tree in Graphviz's language; see :func:`tao_cluster.export.to_dot`."""
        from ..export import to_dot

        return to_dot(
            self,
            feature_names,
            precision,
            max_terms=max_terms,
            X=X,
            sample_weight=sample_weight,
            scaled=scaled,
        )

    def to_onnx(self, *, dtype="float32"):
        """Return the tree as an ONNX model; see :func:`tao_cluster.export.to_onnx`."""
        from ..export import to_onnx

        return to_onnx(self, dtype=dtype)

    def to_dataframe(
        self,
        feature_names=None,
        precision=3,
        *,
        max_terms=None,
        X=None,
        sample_weight=None,
        scaled=False,
    ):
        """Return a table with one line per node; see :func:`tao_cluster.export.to_dataframe`."""
        from ..export import to_dataframe

        return to_dataframe(
            self,
            feature_names,
            precision,
            max_terms=max_terms,
            X=X,
            sample_weight=sample_weight,
            scaled=scaled,
        )

    def _frame(self):
        """Return the page in an iframe, as notebooks show it."""
        return self.to_html()._repr_html_()
