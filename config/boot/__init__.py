"""Reads and checks of the environment, before anything starts."""
