"""Serves coding agents over the Model Context Protocol: ``fx-lsp mcp``.

Imports ``fx_lsp.analysis``, ``fx_lsp.check`` and what these need. Begin with ``mcp_tools.py``, which lists the tools;
``workbench.py`` does their work.
"""
