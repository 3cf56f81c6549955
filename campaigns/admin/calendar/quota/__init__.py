"""The quota planner, and the quota by hours in the calendar."""
