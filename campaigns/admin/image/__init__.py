"""The pages of uploaded images, and the dialog that inserts one into a text."""
