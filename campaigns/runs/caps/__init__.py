"""Frequency caps: how many pushes a person got lately, and places reserved for other runs."""
