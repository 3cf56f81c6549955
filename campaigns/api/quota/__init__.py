"""The endpoints of the quota planner."""
