"""The endpoints of messages to single people."""
