"""Results for other people's tools, and theirs for us."""
