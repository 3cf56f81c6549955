"""The pages of messages to one person: the day's numbers, the newest messages, one message."""
