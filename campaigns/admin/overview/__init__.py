"""The overview: today, device health, and the quota in use.

The addresses and the navigation of config enter.
"""
