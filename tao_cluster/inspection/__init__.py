"""Colours and statistics of rows, which pictures, explanations and the page share."""
