"""Inbox: messages kept for a person, whether or not a push reached a phone."""
