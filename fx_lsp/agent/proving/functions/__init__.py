"""What is run alone if a program can't be run: the function that an edit changes, or a part of it.

Begin reading with `edited_function`.
"""
