"""docs/results: what the .csv files say, as pages."""


def render(folder, plan):
    """Write the pages of a folder of .csv files."""
