"""The settings: their names, types, defaults and descriptions, and what a ``pyproject.toml`` says of them.

Begin reading at `settings`. Imports only `fx_lsp.rules` and the agent's messages.
"""
