"""Compares fxcore with the installed torch.fx on every model that can be had; the result stands in docs/parity.md."""
