"""Uploaded images: what is accepted, where the bytes are, and how phones fetch them."""
