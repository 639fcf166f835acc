"""Ratios, steadiness, and the comparison of two runs."""
