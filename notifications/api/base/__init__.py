"""What all endpoints are built of: authentication, strict JSON, pages, idempotency, refusals."""
