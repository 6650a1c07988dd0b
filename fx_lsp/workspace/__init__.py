"""Files on disk: which are the user's own, which ones import each other, what has changed, and what fx-lsp caches.

Begin reading at `workspace`. Imports only `fx_lsp.documents`, `fx_lsp.errors` and `fx_lsp.locations`.
"""
