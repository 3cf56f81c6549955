"""The text of a run: changed under way, and each revision of it with how many got it.

The page of runs enters.
"""
