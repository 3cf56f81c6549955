"""Local time: when a person gets a run by their own clock. Pure functions."""
