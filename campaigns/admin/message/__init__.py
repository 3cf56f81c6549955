"""The pages of messages to one person: the numbers of the day, the newest, one message."""
