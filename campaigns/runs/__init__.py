"""Runs and their records: chunks, waves, deliveries, and the lists of reasons."""
