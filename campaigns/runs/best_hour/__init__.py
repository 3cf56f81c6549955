"""In which hour of their day does this person open messages? Kept from what phones report.

Whoever keeps receipts, freezes a run, foretells one or tells of a person enters.
"""
