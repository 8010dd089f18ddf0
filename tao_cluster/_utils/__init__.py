"""The tree itself: arrays, routing, growth, pruning, storage; every other room builds on it."""
