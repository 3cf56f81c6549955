"""HTTP requests: their origin, their id, idempotency keys, and log lines with their context."""
