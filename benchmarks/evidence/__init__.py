"""The evidence: tables of papers and of all methods, measured, kept in .csv files, rendered."""
