"""Search, the export of one person, and how many devices are active.

`campaigns/registrations.py` adds the sections of the export.
"""
