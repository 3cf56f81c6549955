"""The endpoints for a person's own app, opened by an inbox token."""
