"""The text of files: open documents, notebooks, positions, scopes and names, directives in comments.

Start reading at `documents`. Imports only `fx_lsp.rules` and the agent's messages.
"""
