"""Revisions: changes of a run's text while it is under way."""
