"""The inbox: messages kept for a person, whether or not a phone was reached."""
