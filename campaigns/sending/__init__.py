"""One chunk from claim to hand-back, and what the answers make of its recipients and of the run.

The tasks and the engine enter.
"""
