"""Synthetic people and campaigns: what a newcomer meets first, and what the benchmark sends to."""
