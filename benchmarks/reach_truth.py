"""Traces a package's classes with torch.fx, built as the package documents.

    .venv/bin/python benchmarks/reach_truth.py PACKAGE OUTPUT.json [--site FOLDER]

The script finds models in the package's README, its docstrings, and its own lists of models. For the dotted name of
each class, the output has the place at which the trace of one of its instances fails, or null if all its instances can
be traced, including those that are parts of a model.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import doctest
import importlib
import importlib.metadata
import inspect
import io
import json
import pkgutil
import re
import resource
import signal
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
import torch.fx

import tests.zoo  # noqa: F401 - torchvision can't be imported before
from fx_lsp.agent.missing.device_redirection import Devices

Build = Callable[[], object]

SECONDS = 60
"""The time limit for one model, including all its parts."""

MOST_SECONDS = 600
"""The time limit for one package."""

MOST_BYTES = 6 << 30
"""The memory limit for one model: as documented, some models are far too large for any machine."""

MOST_ALIKE = 6
"""The approximate number of parts of the same class that are traced in one model. Parts of the same class can differ,
and the class fails if one of them fails."""

_BLOCK = re.compile(r"```(?:python|py)\n(.*?)```", re.DOTALL)


def documented(package: str) -> Iterator[Build]:
    """The models that the package shows how to build."""
    own = _LISTS.get(package)
    if own is not None:
        yield from own()
    yield from _of_readme(package)
    yield from _of_docstrings(package)


def _of_readme(package: str) -> Iterator[Build]:
    for distribution in importlib.metadata.packages_distributions().get(package, [package]):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            text = importlib.metadata.distribution(distribution).read_text("METADATA")
            for block in _BLOCK.findall(str(text)):
                yield from _of_code(textwrap.dedent(block), {})


def _of_docstrings(package: str) -> Iterator[Build]:
    for module in _modules(package):
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == module.__name__ and value.__doc__:
                examples: list[doctest.Example] = []
                with contextlib.suppress(ValueError):  # what looks like an example is not one
                    examples = doctest.DocTestParser().get_examples(textwrap.dedent(value.__doc__))
                yield from _of_code("".join(example.source for example in examples), dict(vars(module)))


def _modules(package: str) -> Iterator[Any]:
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.walk_packages(root.__path__, f"{package}.", onerror=lambda name: None):
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(io.StringIO()):
            yield importlib.import_module(found.name)


def _of_code(code: str, namespace: dict[str, Any]) -> Iterator[Build]:
    """Each call in an example whose result is assigned to a name. Only the imports before the call are run."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            with contextlib.suppress(Exception):
                exec(ast.unparse(node), namespace)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = node.value.func
            if isinstance(name, ast.Name | ast.Attribute) and isinstance(node.targets[0], ast.Name):
                yield lambda node=node, namespace=namespace: _run(node, namespace)  # type: ignore[misc]


def _run(node: ast.Assign, namespace: dict[str, Any]) -> object:
    function = eval(ast.unparse(node.value.func), namespace)  # type: ignore[attr-defined]
    if not isinstance(function, type) or not issubclass(function, torch.nn.Module):
        return None
    exec(ast.unparse(node), namespace)
    return namespace[node.targets[0].id]  # type: ignore[attr-defined]


def _of_timm() -> Iterator[Build]:
    timm = importlib.import_module("timm")

    for module in timm.list_modules():
        names = timm.list_models(module=module)
        for name in names[:: max(len(names) // 2, 1)][:2]:
            yield lambda name=name: timm.create_model(name, pretrained=False)  # type: ignore[misc]


def _of_torchvision() -> Iterator[Build]:
    models = importlib.import_module("torchvision.models")

    for name in models.list_models():
        build = models.get_model_builder(name)
        known = {key: None for key in ("weights", "weights_backbone") if key in inspect.signature(build).parameters}
        yield lambda build=build, known=known: build(**known)  # type: ignore[misc]


def _of_segmentation_models() -> Iterator[Build]:
    smp = importlib.import_module("segmentation_models_pytorch")

    for encoder in ("resnet34", "mit_b0", "mobilenet_v2"):
        for name in ("Unet", "UnetPlusPlus", "MAnet", "Linknet", "FPN", "PSPNet", "DeepLabV3", "DeepLabV3Plus", "PAN"):
            yield lambda n=name, e=encoder: getattr(smp, n)(encoder_name=e, encoder_weights=None)  # type: ignore[misc]


def _of_transformers() -> Iterator[Build]:
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    for config in auto.MODEL_MAPPING:
        yield lambda config=config: auto.AutoModel.from_config(config())  # type: ignore[misc]


def _of_diffusers() -> Iterator[Build]:
    models = importlib.import_module("diffusers.models")

    for name in dir(models):
        cls = getattr(models, name)
        if isinstance(cls, type) and issubclass(cls, torch.nn.Module):
            yield cls


def _of_pretrained_models() -> Iterator[Build]:
    pretrainedmodels = importlib.import_module("pretrainedmodels")

    for name in pretrainedmodels.model_names:
        yield lambda name=name: getattr(pretrainedmodels, name)(pretrained=None)  # type: ignore[misc]


def _of_efficientnet() -> Iterator[Build]:
    package = importlib.import_module("efficientnet_pytorch")
    yield lambda: package.EfficientNet.from_name("efficientnet-b0")


_LISTS: dict[str, Callable[[], Iterator[Build]]] = {
    "timm": _of_timm,
    "torchvision": _of_torchvision,
    "segmentation_models_pytorch": _of_segmentation_models,
    "transformers": _of_transformers,
    "diffusers": _of_diffusers,
    "pretrainedmodels": _of_pretrained_models,
    "efficientnet_pytorch": _of_efficientnet,
}


class _Watching(torch.fx.Tracer):
    """A tracer that records which classes were called."""

    def __init__(self) -> None:
        super().__init__()
        self.called: set[type] = set()

    def call_module(self, m: torch.nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
        """Record or make the call."""
        self.called.add(type(m))
        return super().call_module(m, forward, args, kwargs)


class Truth:
    """What is known about the classes of a package."""

    def __init__(self, wanted: set[str]) -> None:
        self._wanted = wanted
        self._fails: dict[str, str] = {}
        self._traces: set[str] = set()

    @property
    def told(self) -> dict[str, str | None]:
        """For each class, the place where it fails; None if it doesn't fail."""
        return {**dict.fromkeys(self._traces), **self._fails}

    def add(self, build: Build) -> None:
        """Trace one model and its parts, and store the results."""
        root = _built(build)
        if not isinstance(root, torch.nn.Module):
            return
        parts: dict[str, list[torch.nn.Module]] = {}
        for part in root.modules():
            if _name(type(part)) in self._wanted - {*self.told}:
                parts.setdefault(_name(type(part)), []).append(part)
        if not parts:
            return
        whole = _Watching()
        passed = {_name(cls) for cls in whole.called} if _failure(whole, root) is None else set()
        for name, alike in parts.items():
            some = [] if name in passed else alike[:: max(len(alike) // MOST_ALIKE, 1)]
            at = next(filter(None, (_failure(torch.fx.Tracer(), part) for part in some)), None)
            if at is None:
                self._traces.add(name)
            else:
                self._fails[name] = at


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__name__}"


def _built(build: Build) -> object:
    for on_meta in (True, False):
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()), Devices(on_meta=on_meta):
            return build()
    return None


def _failure(tracer: torch.fx.Tracer, root: torch.nn.Module) -> str | None:
    """The place where the trace of ``root`` fails, as ``file:line``; None if it succeeds."""
    try:
        tracer.trace(root)
    except Exception as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/torch/" not in frame.filename]
        return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return None


def main() -> None:
    """Write the results for one package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", help="the name of the package")
    parser.add_argument("output", type=Path, help="the JSON file to write")
    parser.add_argument("--site", default="", help="a folder with additional packages")
    arguments = parser.parse_args()
    sys.path.append(arguments.site)
    warnings.simplefilter("ignore")

    def expire(signum: int, frame: FrameType | None) -> NoReturn:
        raise TimeoutError

    signal.signal(signal.SIGALRM, expire)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    wanted = set(sys.stdin.read().split())
    truth = Truth(wanted)
    end = time.monotonic() + MOST_SECONDS
    for build in documented(arguments.package):
        if time.monotonic() > end or wanted <= {*truth.told}:
            break
        signal.alarm(SECONDS)
        with contextlib.suppress(Exception):
            truth.add(build)
        signal.alarm(0)
        arguments.output.write_text(json.dumps(truth.told))


if __name__ == "__main__":
    main()
