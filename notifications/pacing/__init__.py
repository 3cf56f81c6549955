"""Pacing: one gate per Firebase project limits the send rate of all processes."""
