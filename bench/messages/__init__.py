"""Messages to single people, through the API of a whole stack: the door, the fast lane, and the
published problems played again. The scale suite enters at messages.py and seeds.py.
"""
