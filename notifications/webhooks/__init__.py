"""Reports to other systems: webhooks, Slack messages and e-mail.

What happened is written to the outbox, in the transaction in which it happened. A worker sends it
later, and repeats it until the endpoint accepts it or is given up.
"""
