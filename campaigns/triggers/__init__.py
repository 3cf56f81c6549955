"""Automations: what a person is sent because of something they did. Events make triggers, and each
of these is decided once. The tasks, the doors and, through apps.py, the writing of events enter.
"""
