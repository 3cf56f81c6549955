"""Faults: by the name of an address, or scripted."""
