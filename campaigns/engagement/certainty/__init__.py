"""Statistics: how certain it is that one variant is better. Pure functions.

docs/variants.md names the methods and their sources.
"""
