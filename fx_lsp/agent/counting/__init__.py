"""What a program costs: its parameters and buffers, its floating-point operations, and the memory of its values.

Nothing is computed: the program's graph is run on the meta device.
"""
