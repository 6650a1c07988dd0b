"""Tries a fix: runs the program and the edited program side by side, and traces both.

Imports every other package of the agent except `sandbox` and `serving`. Begin reading with `prove_edit`.
"""
