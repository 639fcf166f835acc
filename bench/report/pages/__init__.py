"""Whole pages: the report, a trial, a comparison, a family, the index of published runs."""
