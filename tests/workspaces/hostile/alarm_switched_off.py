"""Takes its time limit away, and sleeps."""

# expect time-limit: longer than

import signal
import time

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.signal(signal.SIGABRT, signal.SIG_IGN)
        while True:
            time.sleep(1)
        return x.relu()
