"""Why did this person get it, or not? For programs.

The list of the API's addresses enters.
"""
