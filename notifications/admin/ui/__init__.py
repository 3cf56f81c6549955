"""Building blocks of admin pages: lists, forms, dialogs, inputs, and the chosen project."""
