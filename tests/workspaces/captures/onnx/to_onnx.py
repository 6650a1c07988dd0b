"""Usage: python to_onnx.py FILE"""

import sys

import torch

from segmenter import Segmenter

if __name__ == "__main__":
    net = Segmenter()
    torch.onnx.export(net, (torch.randn(2, 3, 8, 8),), sys.argv[1], opset_version=18)
