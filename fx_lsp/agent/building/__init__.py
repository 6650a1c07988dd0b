"""Builds what is to be traced from a recipe: without missing weights, and with invented arguments if none are shown.

Imports no other package of the agent, only the modules `messages` and `traceback_steps`, and fxcore. Begin reading with
`build`, then `argument_synthesis`.
"""
