"""What a computation needs at least: its largest tensor."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Largest(TorchDispatchMode):
    """The largest storage that any operation inside returns, in bytes."""

    bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        sizes = [x.untyped_storage().nbytes() for x in tree_leaves(made) if isinstance(x, torch.Tensor)]
        self.bytes = max([self.bytes, *sizes])
        return made
