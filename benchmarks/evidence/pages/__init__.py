"""What the .csv files say: a section of RESULTS a table."""
