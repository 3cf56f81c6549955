"""Supervision of processes: how each starts and stops, as which user, and where it logs."""
