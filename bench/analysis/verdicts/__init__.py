"""Verdicts on a scenario's expectations."""
