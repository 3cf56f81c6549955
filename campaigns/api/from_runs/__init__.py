"""What a program makes out of a run: a list of some of its people, a correction of its text.

The addresses of the API enter.
"""
