"""Importing: a marketer's file becomes people, in bounded parts, so that a crash loses nothing.

Staff, all above and `old_imports.py` may enter; what else changes an import goes through
`notifications/imports.py`.
"""
