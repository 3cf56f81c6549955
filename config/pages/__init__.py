"""What stands around the pages: log-in, navigation, search; and the operator's own page.

The settings and the addresses enter.
"""
