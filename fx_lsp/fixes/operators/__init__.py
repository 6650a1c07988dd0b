"""What the fix ``custom_operator`` consists of: the kinds of values, guesses of shapes, and the text of an operator.

Imports ``fx_lsp.fixes.editing`` and ``fx_lsp.documents``. Begin with `operator.Operator`.
"""
