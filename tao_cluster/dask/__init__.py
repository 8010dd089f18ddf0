"""Fits to Dask arrays and DataFrames, computed by a cluster or by threads of this process."""

from .._utils.imports import import_optional

for _module in ("distributed", "dask.dataframe", "dask.array"):
    import_optional(_module, "tao_cluster.dask", 'pip install "tao-cluster[dask]"')

from .estimator import DaskTreeClustering  # noqa: E402
from .source import DaskBlocks, dask_blocks  # noqa: E402

__all__ = ["DaskBlocks", "DaskTreeClustering", "dask_blocks"]
