"""What a client sees: each module converts the results that ``fx_lsp.analysis`` stores to the types of one LSP feature.

Nothing here waits for a trace. Imports ``analysis``, ``fixes``, ``rules``, ``settings``, ``documents`` and the agent's
messages. Start reading at `diagnostics`.
"""
