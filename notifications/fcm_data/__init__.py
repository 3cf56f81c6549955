"""FCM's own delivery figures for Android: fetched once a day, and shown beside ours."""
