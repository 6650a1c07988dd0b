"""Programs that trace: such as go wrong in silence, with a mark at what is to be noted, and such as don't."""

from __future__ import annotations

import sys

from fxcore.notices import NoticeKind

K = NoticeKind

_MODULE = "class Net(torch.nn.Module):\n"
_INIT = _MODULE + " def __init__(self):\n  super().__init__()\n"
_SQUARE = """\
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x
    @staticmethod
    def backward(ctx, gradient):
        return gradient
"""
_CHECKPOINT = "from torch.utils.checkpoint import checkpoint\n"

NOTED: dict[NoticeKind, list[str]] = {
    K.TYPE_CHECK: [
        "def f(x): return -x if «isinstance(x, torch.Tensor)» else x",
        "def f(x): return -x if «isinstance(x, (list, torch.Tensor))» else x",
        "def f(x): return -x if «isinstance(x, list | torch.Tensor)» else x",
        "def f(x): return -x if «torch.is_tensor(x)» else x",
        "def f(x): return -x if «isinstance(x.shape[0], int)» else x",
        "def f(x): return -x if «isinstance(x.size(), tuple)» else x",
    ],
    K.ATTRIBUTE_CHECK: [
        "def f(x): return x.mask if «hasattr(x, 'mask')» else x",
        "def f(x): return «getattr(x, 'tensors', x)» + 1",
        "def f(x: torch.Tensor): return x + 1 if «hasattr(x, 'qweight')» else x",
    ],
    K.LOOKUP: [
        "def f(x): return x.float() if «x.dtype in {torch.half}» else x",
        "def f(x): return x * «{1: 2}.get(x.shape[0], 1)»",
        "def f(x): return x if «x.size(0) not in {1: 2}» else -x",
    ],
    K.TEXT: [
        "def f(x): return x + 1, «str(x.device)»",
        "def f(x):\n key = "
        + ("f'«{x.dtype}»'" if sys.version_info >= (3, 12) else "«f'{x.dtype}'»")
        + "\n return {key: x}",
        "def f(x): return {«'%s' % x.shape[0]»: x}",
    ],
    K.OPTIONAL_INPUT: [
        "def f(x, mask=None): return x if «mask» is None else x + mask",
        "def f(x, mask: 'torch.Tensor | None' = None):\n if «mask» is not None: x = x + mask\n return x",
        "def f(x, mask=None):\n given = «mask is not None»\n return x, given",
    ],
    K.UNKNOWN_ATTRIBUTE: [
        "def f(x): return «x.reshpae(-1)»",
        "def f(x): return x + «x.shpae[0]»",
        "def f(x: torch.Tensor): return «x.mask + 1»",
    ],
    K.NUMPY_NUMBER: [
        "import numpy as np\ndef f(x): return «x / np.sqrt(64)»",
        "import numpy as np\ndef f(x): return «torch.clamp(x, min=np.float64(0.5))»",
        "import numpy as np\ndef f(x): return «x.mul(np.pi * np.ones(1)[0])»",
    ],
    K.SWALLOWED_FAILURE: [
        "def f(x):\n try: return x if «x.sum() > 0» else -x\n except ValueError: return x",
        "def f(x):\n try: return x / «int(x.shape[0])»\n except TypeError: return x",
        "import contextlib\ndef f(x):\n with contextlib.suppress(RuntimeError):\n  x = x / «len(x)»\n return x",
    ],
    K.LEFT_ON_MODULE: [
        _MODULE + " def forward(self, x):\n  «self.last» = x + 1\n  return self.last",
        _MODULE + " cache = None\n def forward(self, x):\n  «self.cache» = {'x': [x]}\n  return x + 1",
        _INIT + "  self.seen = []\n def forward(self, x):\n  y = x + 1\n  «self.seen».append(y)\n  return y",
    ],
    K.LOST_WRITE: [
        "def f(x):\n y = x.clone()\n z = y[0]\n «z += 1»\n return y",
        "def f(x):\n y = x.clone()\n z = y\n «z *= 2»\n return y + z",
        "def f(x):\n y = x.clone()\n «y.clamp_(min=0)»\n return y",
        "def f(x):\n y = x.clone()\n «y[:, 0].view(-1).fill_(1)»\n return y",
        "def f(x):\n y = x.clone()\n «torch.relu_(y)»\n return y",
    ],
    K.FROZEN_RANDOM: [
        "def f(x): return x + «torch.rand(3)»",
        "def f(x): return x[«torch.randperm(2)»]",
        "def f(x): return x * «torch.zeros(3).bernoulli_(0.5)»",
    ],
    K.FROZEN_CONSTANT: [
        "def f(x): return «x + torch.arange(3)»",
        "def f(x): return «x[torch.tensor([0, 1])]»",
        "ONE = torch.ones(1)\ndef f(x): return «x.add(ONE)»",
    ],
    K.AUTOGRAD_FUNCTION: [
        _SQUARE + "def f(x): return «Square.apply(x)»",
        _SQUARE + "def f(x):\n square = Square.apply\n return «square(x)» + 1",
        _SQUARE + "def g(x): return «Square.apply(x)»\ndef f(x): return g(-x)",
    ],
    K.AUTOCAST: [
        "def f(x):\n with «torch.autocast('cpu')»: return x @ x",
        "@torch.autocast('cpu')\ndef g(x): return x @ x\ndef f(x): return «g(x)»",
        "def f(x):\n with «torch.amp.autocast('cuda', enabled=False)»: return x @ x",
    ],
    K.GRAD_MODE: [
        "def f(x):\n with «torch.no_grad()»: return x + 1",
        "@torch.no_grad()\ndef g(x): return x + 1\ndef f(x): return «g(x)»",
        "def f(x):\n with «torch.set_grad_enabled(True)»: return x + 1",
    ],
    K.CHECKPOINT: [
        _CHECKPOINT + "def f(x): return «checkpoint(torch.relu, x, use_reentrant=False)»",
        _CHECKPOINT + "def f(x): return «checkpoint(torch.relu, x, use_reentrant=True)»",
        _CHECKPOINT + "def g(x): return «checkpoint(torch.neg, x, use_reentrant=False)»\ndef f(x): return g(g(x))",
    ],
    K.TRAINING_FLAG: [
        _MODULE + " def forward(self, x):\n  if «self.training»: x = x * 2\n  return x + 1",
        _MODULE + " def forward(self, x): return torch.dropout(x, 0.5, «self.training»)",
        _MODULE + " def forward(self, x): return x if not «self.training» else -x",
    ],
}
"""For each kind programs, which define ``f`` or ``Net``; what is noted stands in « »."""

SILENT: dict[NoticeKind, list[str]] = {
    K.TYPE_CHECK: [
        "def f(x): return -x if isinstance(x, (list, tuple)) else x",
        "def f(x): return -x if isinstance(x, torch.nn.Parameter) else x",
        "def f(x): return -x if isinstance(x.shape[0], torch.Tensor) else x",
        "def f(x, n: int): return -x if isinstance(n, torch.Tensor) else x + n",
        "def f(x): return torch.stack([x, torch.as_tensor(1)]) if isinstance(3, int) else x",
    ],
    K.ATTRIBUTE_CHECK: [
        "def f(x): return x + 1 if hasattr(x, 'shape') else x",
        "def f(x): return getattr(x, 'dtype', None), x",
        "def f(x: list): return x.mask if hasattr(x, 'mask') else x[0]",
        "def f(x): return x + 1 if hasattr(torch, 'mask') else x",
    ],
    K.LOOKUP: [
        "def f(x): return x if x in {1: 2} else -x",
        "def f(x, kind='a'): return x if 'a' in {'a': 1} else -x",
        "def f(x):\n seen = {x.dtype: 1}\n return x + 1",
    ],
    K.TEXT: [
        "def f(x):\n torch._assert(x.dim() == 2, f'not {x.shape}')\n return x + 1",
        "import warnings\ndef f(x):\n warnings.warn(f'{x}')\n return x + 1",
        "def f(x): return {'%s' % (1,): x}",
        "def f(x):\n try: raise KeyError(f'{x.shape}')\n except KeyError: return x",
    ],
    K.OPTIONAL_INPUT: [
        "def f(x, mask=None): return x + mask",
        "def f(x, mask): return x if mask is None else x + mask",
        "def f(x, mask=None):\n mask = None\n return x if mask is None else x + mask",
    ],
    K.UNKNOWN_ATTRIBUTE: [
        "def f(x): return x.reshape(-1) + x.shape[0]",
        "def f(x): return x.mask + x.tensors",
        "def f(x: list): return x.reshpae(-1)",
        "def f(x): return x.split(2)[0].reshape(-1)",
    ],
    K.NUMPY_NUMBER: [
        "import numpy as np\ndef f(x): return x / float(np.sqrt(64))",
        "import numpy as np\ndef f(x): return x * np.pi",
        "import numpy as np\ndef f(x): return x + int(np.ceil(0.5))",
        "import numpy as np\ndef f(x): return torch.einsum(np.str_('ij->j'), x)",
    ],
    K.SWALLOWED_FAILURE: [
        "def f(x):\n try: return x / x.size(0)\n except TypeError: return x",
        "def f(x):\n try: return {}['x']\n except KeyError: return x + 1",
        "def f(x):\n try: int('x')\n except ValueError: x = x + 1\n return x",
    ],
    K.LEFT_ON_MODULE: [
        _MODULE + " def forward(self, x):\n  self.calls = 1\n  return x + 1",
        _MODULE + " def forward(self, x):\n  self.x = x\n  y = self.x + 1\n  del self.x\n  return y",
        _INIT
        + "  self.table = torch.ones(2)\n  self.tables = [[1], self.table, {'a': 3}]\n def forward(self, x): return -x",
    ],
    K.LOST_WRITE: [
        "def f(x):\n y = x + 1\n y += 1\n y *= 2\n return y",
        "def f(x):\n y = x.clone()\n y = y.clamp_(min=0)\n return y",
        "def f(x):\n n = x.shape[0]\n m = n\n n += 1\n return x.expand((n, m))",
        "def f(x):\n shortcut = x\n x = torch.relu(x)\n x += shortcut\n return x",
        "def f(x):\n y = x[[0, 1]]\n y += 1\n return x * y",
    ],
    K.FROZEN_RANDOM: [
        "def f(x): return x + torch.rand_like(x)",
        "def f(x): return x + torch.rand(x.shape)",
        "def f(x): return torch.dropout(x, 0.5, True)",
    ],
    K.FROZEN_CONSTANT: [
        "def f(x): return x + torch.arange(3, device=x.device)",
        "def f(x): return x + 3",
        _INIT + "  self.register_buffer('table', torch.ones(3))\n def forward(self, x): return x + self.table",
    ],
    K.AUTOGRAD_FUNCTION: [
        _SQUARE + "def f(x): return x * Square.apply(torch.ones(3))",
        _SQUARE + "def f(x): return x * x",
        "def f(x): return torch.nn.functional.relu(x)",
    ],
    K.AUTOCAST: [
        "def f(x):\n with torch.autocast('cpu'): y = 3\n return x * y",
        "def f(x): return x.float()",
        "def f(x):\n y = torch.is_autocast_enabled('cpu')\n return x if y else -x",
    ],
    K.GRAD_MODE: [
        "def f(x):\n with torch.no_grad(): y = 3\n return x * y",
        "def f(x): return x.detach()",
        _CHECKPOINT + "def f(x): return checkpoint(torch.relu, x, use_reentrant=True)",
    ],
    K.CHECKPOINT: [
        _CHECKPOINT + "def f(x): return x + 1",
        _SQUARE + "def f(x): return Square.apply(x)",
        "def checkpoint(g, x): return g(x)\ndef f(x): return checkpoint(torch.relu, x)",
    ],
    K.TRAINING_FLAG: [
        _MODULE + " def forward(self, x): return torch.dropout(x, 0.5, False)",
        "def f(x, training=False): return torch.relu(x)",
        _INIT + "  self.drop = torch.nn.Dropout()\n def forward(self, x): return self.drop(x)",
    ],
}
"""For each kind programs that are much like the ones above, but of which this kind is not noted."""
