"""Reports to other systems: webhooks, Slack messages and e-mail.

An event is written to the outbox in the transaction in which it happens. A worker sends it later,
and repeats it until the endpoint accepts it or is given up.
"""
