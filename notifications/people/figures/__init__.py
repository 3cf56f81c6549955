"""Stored numbers of people and devices, so that no page counts millions of rows."""
