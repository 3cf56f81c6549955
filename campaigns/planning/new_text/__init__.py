"""Changing the text of a run while it is sent, for the people who still wait."""
