"""Moves a run one step from what the rows say: snapshot, waves, end; and forgets old ones.

Tasks, control, verbs, the doors, the commands and the benchmark enter.
"""
