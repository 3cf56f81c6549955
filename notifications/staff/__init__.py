"""Team, roles, API keys, sign-in, and the audit log."""
