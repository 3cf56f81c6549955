"""PostgreSQL and Valkey for a stack: embedded ones, or those that the environment names."""
