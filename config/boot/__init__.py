"""What is read, and what is refused, before anything starts. The launcher needs it too."""
