"""What identifies a request: its origin, its id, the log context."""
