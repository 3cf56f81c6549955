"""Resolving rules before they are used: other audiences, “the last run”, the runs meant."""
