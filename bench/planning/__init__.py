"""Runs to millions that nobody sends: how long it takes to freeze one, and to open its pages.

`bench/growth/scale.py` enters.
"""
