"""What happened: counted, written down for each accepted message, and shown on phones."""
