import torch

from mobile import Mobile


def quantized(model, inputs):
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import X86InductorQuantizer

    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), X86InductorQuantizer())
    prepared(*inputs)
    return convert_pt2e(prepared)


if __name__ == "__main__":
    quantized(Mobile().eval(), (torch.randn(2, 3, 8, 8),))
