import torch

from layers import Norm


class Server:
    def __init__(self):
        self.norm = Norm()
        self.fast = torch.compile(self.norm, fullgraph=True)

    def answer(self, x):
        return self.fast(x)
