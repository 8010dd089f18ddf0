"""What the csv files say: the numbers of each page of the results."""
