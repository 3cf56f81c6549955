"""The endpoints that make something of a run: a list of its people, a correction."""
