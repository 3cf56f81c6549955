"""The embedded PostgreSQL and Valkey, or those that the environment names."""
