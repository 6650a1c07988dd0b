"""Benchmarks: scripts that anyone can run, each comparing two sides in one run."""
