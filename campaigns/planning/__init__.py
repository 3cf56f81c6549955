"""What and when: campaigns, the rhythm of those that repeat, and what is due."""
