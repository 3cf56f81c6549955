"""What somebody who writes a text is told meanwhile: variables, pictures, problems and where.

The pages enter.
"""
