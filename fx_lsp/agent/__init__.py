"""The agent: it runs in the user's own interpreter, imports their files, builds their modules and traces them.

Since that interpreter belongs to the user, this package and fxcore import nothing but the standard library, torch and
themselves, add only the names ``fxcore`` and ``fx_lsp`` to its ``sys.modules``, and leave ``sys.path`` to the user.
Begin reading with `messages`, which defines the server's requests and the agent's answers, and
``serving/agent_main.py``.
"""
