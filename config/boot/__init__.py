"""What is read, and what is refused, before anything starts.

Every room of config may enter, the launcher too.
"""
