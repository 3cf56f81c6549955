"""The endpoints of audiences, templates, campaigns, runs and deliveries in `/api/v1`."""
