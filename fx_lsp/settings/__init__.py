"""The settings: their names, types, defaults and descriptions, and reading them from a ``pyproject.toml``.

Start reading at `settings`. Imports only `fx_lsp.rules` and the agent's messages.
"""
