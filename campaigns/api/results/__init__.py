"""The result of a run, as programs read it: what came of it by group, and on the phones.

The addresses of the API enter.
"""
