"""t."""
class DaskTreeClustering: pass
