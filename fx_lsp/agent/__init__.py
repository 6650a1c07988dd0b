"""What runs in the user's own interpreter: it imports their files, builds their modules and traces them.

That interpreter is not ours, so this package and fxcore import nothing but the standard library, torch and
themselves, add only the names ``fxcore`` and ``fx_lsp`` to its ``sys.modules``, and leave ``sys.path`` to the user.
Begin reading with `messages`, what the server asks and the agent answers, and ``serving/agent_main.py``.
"""
