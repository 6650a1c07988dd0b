"""Uses up the stack in C."""

# expect crash: SIGSEGV

import sys
import threading

import torch

sys.setrecursionlimit(10**9)
threading.stack_size(1 << 16)
nested = []
for _ in range(20_000):
    nested = [nested]
thread = threading.Thread(target=repr, args=(nested,))
thread.start()
thread.join()


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
