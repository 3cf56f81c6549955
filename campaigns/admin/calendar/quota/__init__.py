"""The quota planner, and the line by hours that the calendar draws, too. config and the calendar
enter.
"""
