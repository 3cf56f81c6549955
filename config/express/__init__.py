"""A short path for single messages: without Django's views, many in one statement."""
