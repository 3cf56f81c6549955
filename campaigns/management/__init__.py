"""Management commands for operators. Django finds them by name; nothing else imports them."""
