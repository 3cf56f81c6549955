"""Authorization, rate and size limits."""
