"""The command line `tao-cluster`."""
