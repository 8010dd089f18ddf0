"""Display and export methods that trees and fitted estimators share.

Each method calls a function of a higher layer. This is the only file that imports higher layers,
inside its methods, so that the import graph has no cycles.
"""


class Readable:
    """Base class of :class:`Tree` and of the estimators with a `tree_`."""

    def to_text(self, feature_names=None, precision=3, max_terms=None, *, scaled=False):
        """Return the tree as indented text; see :func:`tao_cluster.export.to_text`."""
        from ..export import to_text

        return to_text(self, feature_names, precision, max_terms, scaled=scaled)

    def to_rules(
        self,
        feature_names=None,
        precision=3,
        *,
        max_terms=None,
        X=None,
        sample_weight=None,
        scaled=False,
    ):
        """Return one rule per leaf; see :func:`tao_cluster.export.to_rules`."""
        from ..export import to_rules

        return to_rules(
            self,
            feature_names,
            precision,
            max_terms=max_terms,
            X=X,
            sample_weight=sample_weight,
            scaled=scaled,
        )

    def plot(
        self,
        X=None,
        *,
        y=None,
        sample_weight=None,
        nodes="auto",
        image_shape=None,
        feature_names=None,
        class_names=None,
        panels=(),
        scaled=False,
        ax=None,
        title=None,
        max_depth=None,
        orientation="vertical",
        highlight=None,
    ):
        """Draw the tree with matplotlib; see :func:`tao_cluster.plot.plot_tree`."""
        from ..plot import plot_tree

        return plot_tree(
            self,
            X,
            y=y,
            sample_weight=sample_weight,
            nodes=nodes,
            image_shape=image_shape,
            feature_names=feature_names,
            class_names=class_names,
            panels=panels,
            scaled=scaled,
            ax=ax,
            title=title,
            max_depth=max_depth,
            orientation=orientation,
            highlight=highlight,
        )

    def to_html(
        self,
        path=None,
        *,
        X=None,
        y=None,
        feature_names=None,
        class_names=None,
        image_shape=None,
        title=None,
        sample_weight=None,
        scaled=False,
    ):
        """Return or write a page to explore the tree; see :func:`tao_cluster.page.to_html`."""
        from ..page import to_html

        return to_html(
            self,
            path,
            X=X,
            y=y,
            feature_names=feature_names,
            class_names=class_names,
            image_shape=image_shape,
            title=title,
            sample_weight=sample_weight,
            scaled=scaled,
        )

    def explain(self, x, feature_names=None, *, scaled=False):
        """Explain the clusters of rows; see :func:`tao_cluster.explanations.explain`."""
        from ..explanations import explain

        return explain(self, x, feature_names, scaled=scaled)

    def nearest_change(
        self, x, k, *, feature_names=None, fixed=(), bounds="observed", spreads=None
    ):
        """Return the smallest change of a row that moves it to cluster k.

        See :func:`tao_cluster.explanations.nearest_change`.
        """
        from ..explanations import nearest_change

        return nearest_change(
            self, x, k, feature_names=feature_names, fixed=fixed, bounds=bounds, spreads=spreads
        )

    def cluster_table(self, X, *, feature_names=None, sample_weight=None):
        """Return the mean of each column per cluster and over all rows: pandas DataFrame.

        See :func:`tao_cluster.explanations.cluster_table`.
        """
        from ..explanations import cluster_table

        return cluster_table(self, X, feature_names=feature_names, sample_weight=sample_weight)

    def cluster_profile(self, k, X=None, *, feature_names=None, sample_weight=None, max_terms=8):
        """Describe a cluster; see :func:`tao_cluster.explanations.cluster_profile`."""
        from ..explanations import cluster_profile

        return cluster_profile(
            self,
            k,
            X,
            feature_names=feature_names,
            sample_weight=sample_weight,
            max_terms=max_terms,
        )

    def save(self, path):
        """Write the tree or estimator to a JSON file, which :func:`tao_cluster.load` reads."""
        from ..saving import save

        save(self, path)

    def to_sql(self, columns=None, *, table=None, dialect="ansi"):
        """Return the cluster as an SQL expression; see :func:`tao_cluster.export.to_sql`."""
        from ..export import to_sql

        return to_sql(self, columns, table=table, dialect=dialect)

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
        """Return the page of `to_html` in an iframe, for display in notebooks."""
        return self.to_html()._repr_html_()
