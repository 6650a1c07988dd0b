"""Finds what is wrong with a set-up, and says what to do. It changes nothing.

Imports ``fx_lsp.interpreters``, ``fx_lsp.settings``, ``fx_lsp.supervisor`` and ``fx_lsp.workspace``. Begin with
``setup_checks.py``.
"""
