"""Models to try fx-lsp on: one that traces, and the usual ways in which one does not."""
