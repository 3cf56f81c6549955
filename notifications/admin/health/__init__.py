"""A project's health address on its page: how asking it went, and the dialog that tries it.

The page of projects enters.
"""
