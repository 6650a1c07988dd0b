"""What is run on a checkout by hand or by a workflow, beside ``dev.py``."""
