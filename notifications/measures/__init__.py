"""Metrics: each process writes its own files, and the web process adds them up."""
