from torch.ao.quantization import get_default_qconfig_mapping
from torch.ao.quantization.quantize_fx import prepare_fx

from net import Net


def quantize(model, example):
    return prepare_fx(model.eval(), get_default_qconfig_mapping(), (example,))


def main(example):
    return quantize(Net(), example)
