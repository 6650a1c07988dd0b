"""Decides which Python traces a file: finds every environment that may serve it, and takes the first that has torch.

It imports nothing else of fx_lsp. Start reading at ``interpreter_choice.py``.
"""
