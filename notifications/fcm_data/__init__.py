"""FCM's own figures of Android: asked of its Data API once a day, kept, and read beside ours.

The tasks, the pages and what reads runs enter.
"""
