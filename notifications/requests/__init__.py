"""What a request is known by: where it comes from, its id, its idempotency key.

All rooms may enter.
"""
