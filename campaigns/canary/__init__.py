"""Canary: the first part of a run is sent alone and judged, before the rest is sent."""
