"""The overview: today, device health, and the quota in use."""
