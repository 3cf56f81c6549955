"""The people half of `/api/v1`: contacts and devices, and what every endpoint stands on.

config's addresses enter.
"""
