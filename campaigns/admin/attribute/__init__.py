"""Attributes of people: how many have each, and what uses it.

The admin site enters.
"""
