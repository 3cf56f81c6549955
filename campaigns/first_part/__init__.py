"""A first part of a run, drawn by chance: it goes, it is waited for and judged, then the rest goes.

Planning, the engine, results, alerts, verbs and the doors enter.
"""
