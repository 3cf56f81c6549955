"""The embedded PostgreSQL and Valkey, or those the environment names."""
