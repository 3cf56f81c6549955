"""Figures: how much was sent, kept by beat's other tick, and what of it today is.

Tasks, the doors and config enter.
"""
