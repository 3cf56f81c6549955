"""One `manage.py` command per file. Django finds each by its name; nothing else imports them."""
