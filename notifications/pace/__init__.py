"""How fast: one gate per Firebase project for all processes, and what each may do without it.

Whoever sends or forecasts enters.
"""
