"""The highest rate that a configuration sustains under a service level: a search, and what it found.

It knows no cluster: whoever has one asks a `Search` for its next hold, loads the cluster and hands the `Hold` back.
"""
