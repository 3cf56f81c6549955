"""Changing the text of a run under way, for whoever still waits: what it would say, whom that would
skip, and what else says it from then on.

Control and the doors enter.
"""
