"""Automations: messages that are sent after something a person did.

Writing an event creates its triggers (see `registrations.py`). Each trigger is decided once.
"""
