"""Into the inbox: what a message or a run says to a person, kept for them.

The engine enters as it takes messages, settling as it writes what became of a run's people, and
whoever reads who is left to send to.
"""
