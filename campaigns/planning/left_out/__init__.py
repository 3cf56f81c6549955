"""The people that a launch would leave out, one by one, with the reason."""
