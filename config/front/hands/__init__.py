"""Whose hands a request is in: a thread's, a turn's with those that came meanwhile, or those of
whoever asked the same first.

The front enters, and the express for what a turn says.
"""
