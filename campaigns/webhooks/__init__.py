"""Webhooks: endpoints with their pages and API, and what is reported to them of runs, messages,
devices and people.
"""
