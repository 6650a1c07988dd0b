"""Passes for any set of operators. They may import fxcore's top-level modules; start reading at `cse_pass`."""
