"""What somebody who writes a text is told: variables, pictures, problems and where they are.

The pages enter.
"""
