"""A fast path for single messages: no Django views, and many messages in one statement."""
