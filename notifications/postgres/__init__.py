"""PostgreSQL as everybody meets it: its clock and its trouble, a row held, how long one may ask.

All may enter.
"""
