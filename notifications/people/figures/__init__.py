"""Figures: numbers that are kept, so that no page counts millions of rows for them.

All may enter but the rest of people.
"""
