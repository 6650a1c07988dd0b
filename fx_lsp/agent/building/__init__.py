"""Builds what is to be traced: from a recipe, with invented arguments where nobody shows how, without missing weights.

Imports no other room, only `messages`, `traceback_steps` and fxcore. Begin reading with `build`, then
`argument_synthesis`.
"""
