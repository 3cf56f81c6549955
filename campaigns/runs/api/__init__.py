"""The API of runs: what they are, what can be done with them, and their deliveries."""
