"""The variants of a campaign: other texts that some of its people get instead of the main one.

The campaign itself, the launch check and the doors enter.
"""
