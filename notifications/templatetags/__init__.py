"""What templates say with a tag or a filter. Only templates enter, by the name of a file."""
