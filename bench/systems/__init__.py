"""The systems under test: twin rooms with the same file names, and the protocols they keep."""
