"""What a marketer means: audiences, templates, campaigns, and the engine that runs them."""
