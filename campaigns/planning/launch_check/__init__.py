"""What a launch at this moment would do, and what to know before: for the page, the dialog and the
API.

The doors and the results enter.
"""
