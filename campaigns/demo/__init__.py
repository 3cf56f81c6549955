"""Synthetic people and campaigns: what a newcomer meets first. The command `demo` enters."""
