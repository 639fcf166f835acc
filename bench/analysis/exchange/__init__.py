"""Export of results to other tools, and import of theirs."""
