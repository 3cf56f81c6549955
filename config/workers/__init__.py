"""How Celery's workers behave: their settings, their broker, and how they take a message.

Celery and Flower enter, and who asks how workers are: the start, health, pages.
"""
