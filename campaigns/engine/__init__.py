"""Moves a run one step from what the rows say: snapshot, waves, end.

The tasks and the doors enter.
"""
