"""What processes measure themselves, for `/metrics`: each has a file, and the web adds them up.

Whoever measures something declares it, beside what is measured; config enters to show all of it.
"""
