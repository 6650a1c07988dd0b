"""Lets the user's code run where something is missing: a package, weights, a file, a device, a process group.

Imports no other package of the agent, only the module `traceback_steps`, and fxcore. Begin reading with
`missing_modules`.
"""
