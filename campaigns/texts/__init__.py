"""Templates, the template language, and rendering for a person."""
