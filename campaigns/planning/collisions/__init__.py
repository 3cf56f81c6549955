"""Collisions: of what is planned for one day, how many people would get more than one.

The calendar enters.
"""
