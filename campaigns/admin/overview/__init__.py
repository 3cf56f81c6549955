"""The overview: today, what needs a person, people over time, devices, and the quota in use.

The addresses and the navigation of config enter.
"""
