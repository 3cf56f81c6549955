"""Categories of messages. Django enters, when it looks for pages."""
