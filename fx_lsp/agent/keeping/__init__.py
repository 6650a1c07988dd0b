"""Keeps processes that have imported a file, or built a model, so that an edit repeats only what it affects.

See ``kept_session.py`` for the stages, and ``loaded_code.py`` for the edits after which a stage can be used again.
"""
