"""Alerts: the page of what is wrong and was, and the buttons that make one quiet.

The addresses enter, the overview, and the run's page, which shows its own.
"""
