"""The methods as scikit-learn estimators, which also serve as initial trees of TAOClustering."""
