"""Projects, contacts and devices."""
