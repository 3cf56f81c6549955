"""What they read: templates, the template language, and the Push made of one for a person.

Sending, planning and every room above them may enter.
"""
