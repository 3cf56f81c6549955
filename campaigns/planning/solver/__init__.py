"""When would each message of a run leave, and who would get nothing? Pure: rules, people and a
capacity go in, departures come out. It asks no database and no clock.

The launch check and the bench enter.
"""
