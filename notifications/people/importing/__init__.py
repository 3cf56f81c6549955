"""Imports: a file becomes people in parts, each committed by itself, so a crash loses nothing."""
