"""FCM's schema, its rules, and the texts of its refusals."""
