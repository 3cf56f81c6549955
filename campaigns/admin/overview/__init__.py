"""The overview: today, open tasks, people over time, devices, quota in use."""
