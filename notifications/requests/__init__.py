"""What a request is known by: where it comes from, its id, its idempotency key.

Staff, both halves of the API, and config enter.
"""
