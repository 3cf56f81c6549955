"""When a campaign that repeats is due, and on which days it is left out.

The campaign, its words and the doors enter.
"""
