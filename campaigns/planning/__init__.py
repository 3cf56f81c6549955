"""What and when: campaigns, the rhythm of those that repeat, and what is due.

The engine, the results and every room above them may enter.
"""
