"""Methods for comparison. They are imported from `greedy`, and each file has one method."""
