"""Messages to single people: what a program may ask, and the doors where it asks.

The addresses of the API enter.
"""
