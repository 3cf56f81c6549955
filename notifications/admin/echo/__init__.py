"""What a project's page says of how we hear what became of its messages: receipts, FCM's figures.

The project's page enters.
"""
