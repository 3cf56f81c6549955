"""The live inbox, measured: many open streams, and how soon each hears of an item.

`bench/growth/scale.py` enters.
"""
