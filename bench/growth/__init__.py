"""How it grows: with workers, recipients, people to plan for, visitors, with time; and how far.

`bench/__main__.py` enters.
"""
