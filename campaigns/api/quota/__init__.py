"""The quota planner for programs. The API's addresses enter."""
