"""What an operator types. Only Django enters: it finds the commands by their names."""
