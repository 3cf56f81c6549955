"""From a draft to a run: form checks, launch checks, and the launch itself."""
