"""What runs and messages store in people's inboxes."""
