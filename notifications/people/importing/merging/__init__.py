"""Merging one part of an import into people and devices."""
