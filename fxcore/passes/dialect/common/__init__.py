"""Passes that hold for every dialect."""
