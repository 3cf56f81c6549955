"""Pages of other sites: which of them a browser may let use a project's doors.

Project and the doors of a person's token enter.
"""
