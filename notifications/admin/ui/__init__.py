"""What admin pages are built of: lists, forms, dialogs, inputs, and the chosen project."""
