"""Supervised processes: how each starts and stops, as which user, where it logs."""
