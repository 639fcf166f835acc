"""What the numbers answer, and what they say to the expectations."""
