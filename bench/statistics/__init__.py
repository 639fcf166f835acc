"""Ratios and intervals between cases over rounds, for the analysis and the report."""
