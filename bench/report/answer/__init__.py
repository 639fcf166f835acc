"""The answer of a run: what its first page, the terminal and the index say."""
