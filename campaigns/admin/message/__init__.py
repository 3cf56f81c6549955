"""The pages of messages to one person: the day in numbers, the newest, one of them. URLs enter."""
