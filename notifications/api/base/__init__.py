"""The base of all API endpoints: authentication, strict JSON, pages, idempotency, errors."""
