"""Service accounts, other secrets, and access tokens, which one process mints for all."""
