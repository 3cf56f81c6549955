"""Inbox items that runs and messages store for people."""
