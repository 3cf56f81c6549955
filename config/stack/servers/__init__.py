"""The embedded PostgreSQL and Valkey, or those the environment names.

The stack and the benchmark enter.
"""
