"""What is read and checked before anything starts. Imports no Django."""
