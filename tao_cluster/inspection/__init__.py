"""Fitted trees for people and other programs: reports, measures, exports, pictures, the page."""
