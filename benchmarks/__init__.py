"""Benchmarks. Each script measures the two sides that it compares in one run, so anyone can repeat it."""
