"""The evidence: tables of papers and of the field, measured, kept in .csv files, rendered."""
