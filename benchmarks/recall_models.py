"""The models that `recall.py` explores, each with inputs that it accepts. torch.fx can't trace any of them."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Inputs = dict[str, Any]
"""A value for each parameter of the forward, by name."""


@dataclass(frozen=True)
class Case:
    """One model, with its inputs."""

    library: str
    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[], Inputs]
    concrete: tuple[str, ...] = ()
    """Optional inputs that stay None; torch.fx needs them in ``concrete_args``."""
    held_out: bool = False
    """Whether exploring was never tuned on it."""

    @property
    def concrete_args(self) -> dict[str, Any]:
        """The ``concrete_args`` of the trace."""
        return dict.fromkeys(self.concrete)


def image(name: str, *shape: int) -> Inputs:
    """A batch of images, under the model's name for this input."""
    return {name: torch.rand(shape, generator=torch.Generator().manual_seed(1))}


# torchvision. Its wheels contain the two operators that detection needs only in C++, compiled for one build of torch.


def nms(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    """Non-maximum suppression: the indices of the remaining boxes, best first."""
    from torchvision.ops import box_iou  # type: ignore[import-untyped]

    order = scores.argsort(descending=True)
    kept: list[torch.Tensor] = []
    while len(order):
        kept.append(order[:1])
        overlaps = box_iou(boxes[order[:1]], boxes[order[1:]])[0]
        order = order[1:][overlaps <= threshold]
    return torch.cat(kept) if kept else order


def implement_operators() -> None:
    """Implement torchvision's compiled operators in Python if they are missing."""
    importlib.import_module("tests.zoo")  # declares them, which importing torchvision needs
    extension: Any = importlib.import_module("torchvision.extension")
    if extension._has_ops():
        return
    extension._has_ops = lambda: True
    pooling: Any = importlib.import_module("torchvision.ops.roi_align")
    pooling._roi_align = inspect.unwrap(pooling._roi_align)  # it is compiled at its first call, which tracers refuse
    _library.impl("nms", nms, "CPU")


_library: Any = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]


DETECTORS = """
    fasterrcnn_mobilenet_v3_large_320_fpn fasterrcnn_mobilenet_v3_large_fpn fasterrcnn_resnet50_fpn
    fasterrcnn_resnet50_fpn_v2 fcos_resnet50_fpn keypointrcnn_resnet50_fpn maskrcnn_resnet50_fpn
    maskrcnn_resnet50_fpn_v2 retinanet_resnet50_fpn retinanet_resnet50_fpn_v2 ssd300_vgg16
    ssdlite320_mobilenet_v3_large
"""


def build_detector(name: str) -> nn.Module:
    """A detection model of torchvision that doesn't enlarge images."""
    import torchvision  # type: ignore[import-untyped]

    torch.manual_seed(0)
    sizes = {} if name.startswith("ssd") else {"min_size": 64, "max_size": 64}
    model: nn.Module = torchvision.models.get_model(name, weights=None, weights_backbone=None, **sizes)
    return model.eval()


def build_raft(name: str) -> nn.Module:
    """An optical flow model of torchvision."""
    from tests import zoo

    return zoo.build(name)


def detection_inputs() -> Inputs:
    """Two images of different sizes, and the objects in them."""
    target = {"boxes": torch.tensor([[4.0, 8.0, 20.0, 30.0]]), "labels": torch.tensor([1])}
    extra = {"masks": torch.ones(1, 64, 64, dtype=torch.uint8), "keypoints": torch.ones(1, 17, 3)}
    return {
        "images": [image("", 3, 64, 64)[""], image("", 3, 48, 64)[""]],
        "targets": [{**target, **extra}, {**target, **extra}],
    }


def torchvision_cases() -> Iterator[Case]:
    """The models of torchvision: detection models and RAFT."""
    for name in DETECTORS.split():
        yield Case(
            "torchvision",
            name,
            functools.partial(build_detector, name),
            detection_inputs,
        )
    for name in ("raft_small", "raft_large"):
        yield Case(
            "torchvision",
            name,
            functools.partial(build_raft, name),
            lambda: {**image("image1", 1, 3, 128, 128), **image("image2", 1, 3, 128, 128)},
        )


# timm.

TIMM = """
    bat_resnext26ts convit_small convit_tiny cpubone_b0_bfrobust cpubone_b1_dwnorm cpubone_nano crossvit_9_240
    crossvit_9_dagger_240 crossvit_tiny_240 dm_nfnet_f0 efficientvit_b0 efficientvit_b1 efficientvit_m0
    efficientvit_m1 mobilenetv5_base mobilevit_xs mobilevit_xxs mobilevitv2_050 mobilevitv2_075 mvitv2_small_cls
    mvitv2_tiny naflexvit_base_patch16_gap naflexvit_base_patch16_parfac_gap nasnetalarge nest_tiny nest_tiny_jx
    pnasnet5large qwen3_vit_88m samvit_base_patch16_224 tf_efficientnet_b0 tiny_vit_11m_224 tiny_vit_5m_224
    vgg11
"""

HELD_OUT_TIMM = """
    maxvit_tiny_tf_384 mobilevit_s tf_efficientnet_cc_b0_4e tf_efficientnet_lite3 tf_mixnet_l
"""
"""Every tenth of timm's models by name, starting with the fifth, that fails, is not in the list above, and has at most
40 million parameters."""
NONE = {
    "hiera": ("mask",),
    "naflexvit": ("patch_coord", "patch_valid", "attn_mask"),
    "vit_pytorch.vit_with_decorr.ViT": ("return_decorr_aux_loss",),
    "x_transformers.XTransformer": ("mask", "attn_mask", "src_prepend_embeds"),
}
"""For a model or family of timm, the inputs that are only for training or for other formats."""


def build_timm(name: str) -> nn.Module:
    """A model of timm."""
    import timm

    torch.manual_seed(0)
    model: nn.Module = timm.create_model(name, pretrained=False)
    return model.eval()


def timm_inputs(name: str) -> Inputs:
    """An image of the model's own size."""
    import timm

    configuration: Any = timm.get_pretrained_cfg(name)
    return image("x", 1, *configuration.input_size)


def timm_cases() -> Iterator[Case]:
    """The models of timm: one or two of each family that fails, and the models held out."""
    for name in (TIMM + HELD_OUT_TIMM).split():
        yield Case(
            "timm",
            name,
            functools.partial(build_timm, name),
            functools.partial(timm_inputs, name),
            NONE.get(name.partition("_")[0], ()),
            name in HELD_OUT_TIMM.split(),
        )


# transformers, with small configurations.

TEXT = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 99,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
GPT = {
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "vocab_size": 99,
    "n_positions": 64,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
ENCODER_DECODER = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "vocab_size": 99,
}
VISION = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 99}
TRANSFORMERS: dict[str, tuple[str, dict[str, Any]]] = {
    "BertModel": ("input_ids", TEXT),
    "RobertaModel": ("input_ids", TEXT),
    "DistilBertModel": ("input_ids", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 99}),
    "ElectraModel": ("input_ids", {**TEXT, "embedding_size": 32}),
    "AlbertModel": ("input_ids", {**TEXT, "embedding_size": 16}),
    "LlamaModel": ("input_ids", TEXT),
    "MistralModel": ("input_ids", TEXT),
    "Qwen2Model": ("input_ids", TEXT),
    "GemmaModel": ("input_ids", {**TEXT, "head_dim": 8}),
    "GPT2Model": ("input_ids", GPT),
    "OPTModel": ("input_ids", {**TEXT, "ffn_dim": 64, "word_embed_proj_dim": 32}),
    "GPTNeoXModel": ("input_ids", TEXT),
    "BloomModel": ("input_ids", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}),
    "T5EncoderModel": ("input_ids", T5),
    "ViTModel": ("pixel_values", VISION),
    "DeiTModel": ("pixel_values", VISION),
    "CLIPVisionModel": ("pixel_values", VISION),
    "SiglipVisionModel": ("pixel_values", VISION),
    "Dinov2Model": ("pixel_values", VISION),
    "ConvNextModel": ("pixel_values", {"hidden_sizes": [8, 16, 32, 64], "depths": [1, 1, 1, 1]}),
    "BeitModel": ("pixel_values", VISION),
}
HELD_OUT_TRANSFORMERS = {
    "BioGptModel": "input_ids",
    "DINOv3ViTModel": "pixel_values",
    "FalconH1Model": "input_ids",
    "GraniteMoeSharedModel": "input_ids",
    "HeliumModel": "input_ids",
    "Llama4TextModel": "input_ids",
    "NomicBertModel": "input_ids",
    "PixioModel": "pixel_values",
    "Qwen3Model": "input_ids",
    "RegNetModel": "pixel_values",
    "SamHQVisionModel": "pixel_values",
}
"""Every twelfth base model by name, starting with the fourth, that `SMALL` makes small, that runs, and that fails."""
SMALL = {
    **TEXT,
    **GPT,
    **ENCODER_DECODER,
    **VISION,
    **T5,
    "embed_dim": 32,
    "ffn_dim": 64,
    "head_dim": 8,
    "depths": [1, 1, 1, 1],
    "hidden_sizes": [8, 16, 32, 64],
}


def small_options(configuration: Any) -> dict[str, Any]:
    """The options of ``SMALL`` that the configuration also has, with the same type."""
    return {name: value for name, value in SMALL.items() if type(getattr(configuration, name, None)) is type(value)}


class Plainly(nn.Module):
    """A model with a plain signature, because torch.fx can't bind decorated forwards with ``**kwargs``."""

    def __init__(self, model: nn.Module, name: str) -> None:
        super().__init__()
        self.model = model
        self.input_name = name

    def forward(self, x: torch.Tensor) -> Any:
        """The outputs of the model for its only input."""
        return self.model(**{self.input_name: x})


def build_transformer(name: str, input_name: str, options: dict[str, Any] | None) -> nn.Module:
    """A small model of transformers."""
    import transformers

    torch.manual_seed(0)
    model_class = getattr(transformers, name)
    configuration = model_class.config_class
    options = small_options(configuration()) if options is None else options
    return Plainly(model_class(configuration(**options)).eval(), input_name)


def token_ids() -> Inputs:
    """Two short texts."""
    return {"x": torch.arange(1, 17).reshape(2, 8)}


def transformers_cases() -> Iterator[Case]:
    """The models of transformers, for text and for images."""
    images = functools.partial(image, "x", 2, 3, 32, 32)
    tuned: dict[str, Any] = {name: (input_name, options, False) for name, (input_name, options) in TRANSFORMERS.items()}
    held_out = {name: (input_name, None, True) for name, input_name in HELD_OUT_TRANSFORMERS.items()}
    for name, (input_name, options, is_held_out) in (tuned | held_out).items():
        build = functools.partial(build_transformer, name, input_name, options)
        inputs = token_ids if input_name == "input_ids" else images
        yield Case("transformers", name, build, inputs, held_out=is_held_out)


# Other packages.


def make(path: str, options: dict[str, Any]) -> nn.Module:
    """Build an instance of a package's class."""
    torch.manual_seed(0)
    module, _, name = path.rpartition(".")
    model: nn.Module = getattr(importlib.import_module(module), name)(**options)
    return model.eval()


RESNET = {"encoder_name": "resnet18", "encoder_weights": None}
VIT = {"image_size": 32, "patch_size": 8, "num_classes": 5, "dim": 32, "depth": 2, "heads": 2, "mlp_dim": 64}
X_TRANSFORMER = {
    "dim": 32,
    "enc_num_tokens": 50,
    "enc_depth": 2,
    "enc_heads": 2,
    "enc_max_seq_len": 16,
    "dec_num_tokens": 50,
    "dec_depth": 2,
    "dec_heads": 2,
    "dec_max_seq_len": 16,
}


def photograph() -> Inputs:
    """One, small."""
    return image("img", 1, 3, 32, 32)


OTHERS: dict[str, tuple[dict[str, Any], Callable[[], Inputs]]] = {
    "vit_pytorch.vit.ViT": (VIT, photograph),
    "vit_pytorch.simple_vit.SimpleViT": (VIT, photograph),
    "vit_pytorch.deepvit.DeepViT": (VIT, photograph),
    "vit_pytorch.cct.CCT": (
        {"img_size": 32, "num_classes": 5, "num_heads": 4, "embedding_dim": 64, "mlp_ratio": 2, "num_layers": 2},
        lambda: image("x", 1, 3, 32, 32),
    ),
    "vit_pytorch.simple_vit_with_fft.SimpleViT": ({**VIT, "freq_patch_size": 8}, photograph),
    "segmentation_models_pytorch.FPN": (RESNET, lambda: image("x", 1, 3, 64, 64)),
    "segmentation_models_pytorch.PAN": (RESNET, lambda: image("x", 1, 3, 128, 128)),
    "segmentation_models_pytorch.UPerNet": (RESNET, lambda: image("x", 1, 3, 64, 64)),
    "denoising_diffusion_pytorch.Unet": (
        {"dim": 16, "dim_mults": (1, 2)},
        lambda: {**image("x", 1, 3, 16, 16), "time": torch.tensor([3]), "x_self_cond": None},
    ),
}


HELD_OUT_OTHERS: dict[str, tuple[dict[str, Any], Callable[[], Inputs]]] = {
    "vit_pytorch.attn_residual_with_dca_simple_vit.SimpleViT": (VIT, photograph),
    "vit_pytorch.mp3.ViT": (VIT, photograph),
    "vit_pytorch.parallel_vit.ViT": (VIT, photograph),
    "vit_pytorch.simple_vit_orthog_residual_update.SimpleViT": (VIT, photograph),
    "vit_pytorch.simple_vit_with_relative_proj_pos_bias.SimpleViT": (VIT, photograph),
    "vit_pytorch.vat.ViT": (VIT, photograph),
    "vit_pytorch.vit_with_decorr.ViT": (VIT, photograph),
    "segmentation_models_pytorch.UnetPlusPlus": (RESNET, lambda: image("x", 1, 3, 64, 64)),
    "segmentation_models_pytorch.PSPNet": (RESNET, lambda: image("x", 1, 3, 64, 64)),
    "segmentation_models_pytorch.Segformer": (RESNET, lambda: image("x", 1, 3, 64, 64)),
    "x_transformers.XTransformer": (X_TRANSFORMER, lambda: {"src": token_ids()["x"], "tgt": token_ids()["x"]}),
}
"""From the first package, every fourth of the classes that accept the options of a ViT, run, and fail, starting with
the first; from the second package, every third such class; and a package from which no other model comes."""


def other_cases() -> Iterator[Case]:
    """Some models of other packages."""
    for name, (options, inputs) in (OTHERS | HELD_OUT_OTHERS).items():
        build = functools.partial(make, name, options)
        yield Case("others", name, build, inputs, NONE.get(name, ()), name in HELD_OUT_OTHERS)


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "torchvision": torchvision_cases,
    "timm": timm_cases,
    "transformers": transformers_cases,
    "others": other_cases,
}
