"""Messages to one person: the row each is, the run of a project's day that they are of, and how
what is due becomes recipients and a chunk. The engine, the tasks and the API enter.
"""
