"""Pages around the admin: sign-in, navigation, search, Operations."""
