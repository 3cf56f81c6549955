"""The endpoints of contacts and devices in `/api/v1`, and the base of all endpoints."""
