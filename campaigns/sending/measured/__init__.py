"""What sending measures of itself, for `/metrics`.

`sending.py` enters.
"""
