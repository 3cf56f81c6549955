"""How it grows: with workers, recipients, people to plan for, visitors, and with time.

`bench/__main__.py` enters.
"""
