"""Colours, row statistics and decision paths, used by pictures, explanations and the page."""
