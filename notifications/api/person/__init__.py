"""What a person's own app may do with an inbox token, and where a backend gets one.

The API's addresses enter, and config's door.
"""
