"""Writes what a dying process would to every file that it finds open, and dies."""

# expect crash: was terminated by SIGKILL

import contextlib
import os
import signal
import stat

import torch

STACK = 'x (most recent call first):\n  File "/dev/zero", line 1 in f\n  File "/dev/zero", line {} in f\n'


class Net(torch.nn.Module):
    def forward(self, x):
        for descriptor in range(3, 256):
            with contextlib.suppress(OSError):
                if stat.S_ISREG(os.fstat(descriptor).st_mode):
                    os.write(descriptor, STACK.format("9" * 5_000).encode())
        os.kill(os.getpid(), signal.SIGKILL)
