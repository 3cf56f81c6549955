"""Snippets: short texts of a project that its templates mention, and that are written once.

The rest of the texts enters, and every room that shows or freezes a text.
"""
