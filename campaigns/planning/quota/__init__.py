"""Quota: what the runs of one Firebase project will use of it, hour by hour, and what one more of
them would push out.

The launch check, the figures and the doors enter.
"""
