"""Service accounts and their tokens: checked, sealed, opened to send, minted by one process and
used by all.

The rooms of FCM and staff, and all above, may enter.
"""
