"""Automations: messages that are sent because of something a person did.

Writing events creates triggers (see `registrations.py`), and each trigger is decided once.
"""
