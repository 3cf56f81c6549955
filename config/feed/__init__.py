"""The feed: a process that keeps a stream open for each app, for its inbox."""
