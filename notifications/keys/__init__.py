"""Service accounts, other secrets, and access tokens: one process mints, all use them."""
