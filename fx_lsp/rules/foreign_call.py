"""Code that wants real tensors or numbers is handed a traced value."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, called, remark, subject

_SIZES = (
    "takes its sizes one by one, and traced values are not accepted there.",
    "Pass one tuple, which is recorded: `torch.zeros((n, m))`, `x.expand((n, -1))`.",
)
_COPIES = (
    "copies numbers out of what it is given, and a traced value has none yet.",
    "Use the value as it is, `torch.stack` for several, or move the call into a function recorded with "
    "`torch.fx.wrap`.",
)
_DTYPES = (
    "needs a dtype that is known, and that of a traced value is not.",
    "Name the dtype (`torch.float32`), or move the expression into a function recorded with `torch.fx.wrap`.",
)
_TRANSFORMS = (
    "transforms a function and runs it on real tensors only.",
    "Move the call into a function recorded with `torch.fx.wrap`.",
)
_BRANCHES = (
    "cannot be traced symbolically.",
    "Use `torch.where`, or move the call into a function recorded with `torch.fx.wrap`.",
)
_CHECKS = (
    "asks at once whether a traced value is true.",
    'Use `torch._assert(condition, "message")`, which is recorded.',
)
_DEVICES = (
    "needs a device that is known, and that of a traced value is not.",
    'Name the device (`"cuda"`), or keep it as an attribute that `__init__` sets.',
)

_OF_TORCH = {
    **dict.fromkeys(("ones", "zeros", "empty", "rand", "randn", "randint", "full"), _SIZES),
    **dict.fromkeys(("new_ones", "new_zeros", "new_empty", "expand", "view", "reshape", "repeat"), _SIZES),
    **dict.fromkeys(("permute", "tile", "resize_", "unflatten"), _SIZES),
    **dict.fromkeys(("tensor", "as_tensor", "Tensor", "from_numpy", "asarray", "new_tensor"), _COPIES),
    **dict.fromkeys(("finfo", "iinfo"), _DTYPES),
    **dict.fromkeys(("vmap", "grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "functional_call"), _TRANSFORMS),
    **dict.fromkeys(("cond", "while_loop", "map", "scan", "associative_scan"), _BRANCHES),
    **dict.fromkeys(("_check", "_check_with", "_check_is_size", "_check_value", "_check_index"), _CHECKS),
    **dict.fromkeys(("autocast", "device", "Generator"), _DEVICES),
    "script": (
        "calls a function that was compiled for real tensors.",
        "Call the plain Python function while tracing, or record the compiled one's call with `torch.fx.wrap`.",
    ),
    "broadcast_shapes": (
        "computes with sizes that have to be plain numbers.",
        "Let the operation itself broadcast, or move the call into a function recorded with `torch.fx.wrap`.",
    ),
}
"""By the name of torch's function: why it refuses, and what to do."""

_OF_OTHERS = {
    "numpy": (
        "hands a traced value to NumPy, which reads the memory of a tensor, and here there is none.",
        "Use torch's function for it (`torch.sqrt` for `np.sqrt`), which is recorded.",
    ),
    "einops": (
        "hands a traced value to einops, which knows only the tensors of the libraries that it supports.",
        "Use a layer of `einops.layers.torch` as a submodule, or `reshape` and `permute`, which are recorded.",
    ),
    "json": ("makes a text of a traced value.", "Leave the value out of the text."),
    "join": ("makes a text of a traced value.", "Leave the value out of the text."),
    "divmod": ("needs plain numbers.", "Use `//` and `%`, which are recorded."),
    "next": ("needs an iterator.", "Index the value, `x[0]`, which is recorded."),
}
"""By the package or the builtin."""

_GENERAL = (
    "hands a traced value to code that accepts only real tensors or plain numbers.",
    "Use what torch has for it, or move the call into a function recorded with `torch.fx.wrap`.",
)


def message(failure: Failure, expression: str) -> str:
    """Who refuses a traced value in ``expression``, why, and what to do."""
    callee = failure.operation or called(expression) or ""
    package, _, name = callee.partition(".")
    reason, advice = _OF_OTHERS.get(package) or _OF_TORCH.get(name.rpartition(".")[2]) or _GENERAL
    own = "" if expression.startswith("raise ") else expression  # the library's statement says nothing to its user
    return f"{subject(own)} {reason} {advice}{remark(failure)}"


RULE = Rule(
    code="foreign-call",
    title="A call that refuses traced values",
    why="""\
A traced value passes for a tensor where torch's functions and tensor methods dispatch by their arguments: those calls
are recorded. Code that looks into the tensor itself can't work with it: C++ that parses sizes one by one or copies
numbers, NumPy, einops, `json`, function transforms such as `torch.vmap`, compiled functions. The error that they raise
is about what they happened to look at first, and often misleads; it stands at the end of the message.

- Sizes as one tuple: `torch.zeros((n, m))`, `x.expand((n, -1))`.
- torch's function in place of another library's.
- `torch._assert` for `torch._check`; a dtype or a device that is known for `torch.finfo(x.dtype)`.
- Anything else: a function at module level whose call is recorded with `torch.fx.wrap("its_name")`.""",
    bad="""\
import torch
import torch.fx


def mask(x):
    return x * torch.ones(x.shape[0], x.shape[1])


traced = torch.fx.symbolic_trace(mask)
""",
    good="""\
import torch
import torch.fx


def mask(x):
    return x * torch.ones((x.shape[0], x.shape[1]))


traced = torch.fx.symbolic_trace(mask)
""",
    message=message,
    kinds=("foreign-call",),
    fixes=("sizes", "wrap", "helper"),
)
