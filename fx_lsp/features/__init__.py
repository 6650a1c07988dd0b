"""What the client sees: from the results that analysis keeps to LSP types. Nothing here waits for a trace."""
