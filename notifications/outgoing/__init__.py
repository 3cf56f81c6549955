"""Reports out: what happened here is told to other systems, by webhook, in Slack or by e-mail.

A row is written in the transaction that makes the thing true; a worker sends it later, as often as
it takes. The doors, the tasks, and whoever makes such things true enter.
"""
