"""What the pages are built of: lists, forms, dialogs, inputs, and the project one works in.

Every page may enter, and config.
"""
