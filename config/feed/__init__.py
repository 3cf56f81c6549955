"""The feed: a process that keeps a stream open for each app and tells it what is new in the inbox.

`make run`, Compose and the tests enter, by its command.
"""
