"""What an operator types, and the project that it is about. Its commands enter."""
