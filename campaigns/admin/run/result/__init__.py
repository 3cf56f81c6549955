"""The result of a run: what came of its first part, the phone as it was sent, the results by group,
what phones report of it, and the comparison with another run.

The page of runs enters.
"""
