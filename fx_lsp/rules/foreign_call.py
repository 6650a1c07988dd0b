"""Code that needs real tensors or numbers receives a traced value."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, called, remark, subject

_SIZES = (
    "is given its sizes as separate arguments, and these cannot be traced values.",
    "Pass the sizes as one tuple, which is recorded: `torch.zeros((n, m))`, `x.expand((n, -1))`.",
)
_COPIES = (
    "copies numbers out of its argument, but a traced value does not contain any.",
    "Use the value itself, combine several with `torch.stack`, or move the call into a function wrapped with "
    "`torch.fx.wrap`.",
)
_DTYPES = (
    "needs a known dtype, but the dtype of a traced value is not known.",
    "Name the dtype (`torch.float32`), or move the expression into a function wrapped with `torch.fx.wrap`.",
)
_TRANSFORMS = (
    "uses a function transform, which accepts only real tensors.",
    "Move the call into a function wrapped with `torch.fx.wrap`.",
)
_BRANCHES = (
    "passes a traced value to a control-flow operator, which accepts only real tensors.",
    "Use `torch.where` instead of `torch.cond`, or move the call into a function wrapped with `torch.fx.wrap`.",
)
_CHECKS = (
    "needs to know immediately whether a traced value is true.",
    'Use `torch._assert(condition, "message")`, which is recorded.',
)
_DEVICES = (
    "needs a known device, but the device of a traced value is not known.",
    'Name the device (`"cuda"`), or take it from an attribute that `__init__` sets.',
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
        "Call the plain Python function while tracing, or record the compiled function's call with `torch.fx.wrap`.",
    ),
    "broadcast_shapes": (
        "computes with sizes, which have to be plain numbers.",
        "Rely on the operation's own broadcasting, or move the call into a function wrapped with `torch.fx.wrap`.",
    ),
}
"""The name of a torch function -> why it rejects a traced value, and what to do."""

_OF_OTHERS = {
    "numpy": (
        "passes a traced value to NumPy, which reads memory that a traced value does not have.",
        "Use the torch function instead (`torch.sqrt` for `np.sqrt`), which is recorded.",
    ),
    "einops": (
        "passes a traced value to einops, which accepts only tensors from libraries that it supports.",
        "Use `reshape`, `permute` and `mean`, which are recorded, or record the call itself with `torch.fx.wrap`.",
    ),
    "einops.layers": (
        "passes a traced value to a layer of einops, which accepts only tensors from libraries that it supports.",
        "Use `reshape`, `permute` and `mean`, which are recorded, or make the layer a leaf of the tracer.",
    ),
    "json": ("converts a traced value to text.", "Leave the value out of the text."),
    "join": ("converts a traced value to text.", "Leave the value out of the text."),
    "divmod": ("needs plain numbers.", "Use `//` and `%`, which are recorded."),
    "next": ("needs an iterator, which a traced value is not.", "Index the value (`x[0]`), which is recorded."),
}
"""The package, its subpackage or the builtin -> why it rejects a traced value, and what to do."""

_TOKENIZERS = (
    "passes a traced value to a tokenizer, which accepts only text.",
    "Tokenize before the model is called, and pass in the numbers.",
)

_GENERAL = (
    "passes a traced value to code that accepts only real tensors or plain numbers.",
    "Use a torch function, or move the call into a function wrapped with `torch.fx.wrap`.",
)


def message(failure: Failure, expression: str) -> str:
    """Why the function that ``expression`` calls rejects a traced value, and what to do."""
    callee = failure.operation or called(expression) or ""
    package, _, name = callee.partition(".")
    of_others = _OF_OTHERS.get(f"{package}.{name.partition('.')[0]}") or _OF_OTHERS.get(package)
    of_tokenizers = _TOKENIZERS if "okenize" in callee else None
    reason, advice = of_tokenizers or of_others or _OF_TORCH.get(name.rpartition(".")[2]) or _GENERAL
    own = "" if expression.startswith("raise ") else expression  # the library's own statement means nothing to the user
    return f"{subject(own)} {reason} {advice}{remark(failure)}"


RULE = Rule(
    code="foreign-call",
    title="A call that does not accept traced values",
    why="""\
A traced value can take the place of a tensor in calls to torch functions and tensor methods that dispatch on their
arguments: those calls are recorded. Code that needs the tensor itself cannot work with a traced value. Examples are C++
code that parses sizes one by one or copies numbers, NumPy, einops, `json`, function transforms such as `torch.vmap`,
and compiled functions. The error that such code raises depends on what it checks first, so the error is often
misleading; it is quoted at the end of the message.

- Pass sizes as one tuple: `torch.zeros((n, m))`, `x.expand((n, -1))`.
- Use a torch function instead of another library's function.
- Leave out `torch.autograd.Variable`, which tensors no longer need: `Variable(x)` is `x.detach()`.
- Use `torch._assert` instead of `torch._check`, and a known dtype or device instead of one that is read from a traced
  value, as in `torch.finfo(x.dtype)`.
- Otherwise: move the call into a module-level function and record the call to that function with
  `torch.fx.wrap("its_name")`.""",
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
    text=message,
    kinds=("foreign-call",),
    fixes=(
        "size_tuple",
        "without_variable",
        "distribution_checks",
        "math_functions",
        "wrap_call",
        "move_to_helper",
    ),
)
