"""What is known of some packages that may be missing: parts so simple and so common that we can do what they do.

Imports the packages `importing` and `missing`. Begin reading with `known_parts`.
"""
