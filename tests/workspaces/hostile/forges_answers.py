"""Answers requests that are none of its own."""

# expect nothing

import contextlib
import json
import os
import struct

import torch


def say(**fields):
    body = json.dumps(fields).encode()
    for descriptor in range(3, 256):
        with contextlib.suppress(OSError):
            os.write(descriptor, struct.pack(">I", len(body)) + body)


class Net(torch.nn.Module):
    for number in range(200):
        say(message="Report", id=number, target="good", outcome="failed", failures=[{"kind": "crash", "error": "x"}])
        say(message="Heartbeat", id=number)
    say(message="Imported", dependencies=["/dev/zero", 5, {}], third_party=[5, "..", "nowhere"], compiled=["/dev/zero"])
    say(message="Imported", dependencies=None)

    def forward(self, x):
        return x.relu()
