"""Projects, contacts and devices, and all that belongs to them: consent, events, imports."""
