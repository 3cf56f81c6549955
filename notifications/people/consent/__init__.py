"""Consent: who may get messages about what, since when, and who said so.

All may enter but the rest of people (the registry alone says what it was told), the values, and
what PostgreSQL is to everybody.
"""
