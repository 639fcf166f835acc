"""What became of every message."""
