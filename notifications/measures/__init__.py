"""Metrics that processes write to files of their own; the web process adds them up."""
