"""What all endpoints are built of: authentication, strict JSON, pages, tags, idempotency, refusals."""
