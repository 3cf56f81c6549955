"""Translating: a template's texts as a file for translators, and what comes back brought in.

Pages and API enter.
"""
