"""Builds what a recipe describes: without weights that are missing, and with invented arguments if no code shows any.

Imports no other package of the agent, only the modules `messages` and `traceback_steps`, and fxcore. Begin reading with
`build`, then `argument_synthesis`.
"""
