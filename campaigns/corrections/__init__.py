"""Corrections: changing the text of a run while it is sent, and sending a right text after a wrong
one.
"""
