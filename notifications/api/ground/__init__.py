"""What every endpoint stands on: who calls, strict JSON in, pages, tags, idempotency, refusals.

Every endpoint, the command `report` and config may enter.
"""
