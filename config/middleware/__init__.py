"""What every request and every answer passes through on its way.

The settings, the addresses and the front enter.
"""
