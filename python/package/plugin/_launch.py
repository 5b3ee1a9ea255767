# SPDX-License-Identifier: Apache-2.0
"""How a compiled kernel is launched."""
from ._expressions import SymInt32

_NAMES = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_mem")


class KernelLaunchParams:
    """Blocks of the grid, threads of a block, and bytes of dynamic shared memory: integers, or expressions over extents.

    grid_x, grid_y, grid_z, block_x, block_y and block_z are 1 unless they are set, shared_mem is 0. Nothing is launched where an
    extent of the grid is 0.
    """

    __slots__ = _NAMES

    def __init__(self, grid_x=1, grid_y=1, grid_z=1, block_x=1, block_y=1, block_z=1, shared_mem=0):
        for name, value in zip(_NAMES, (grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_mem)):
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if name not in _NAMES:
            raise AttributeError(f"launch parameters have no '{name}'; expected one of {', '.join(_NAMES)}")
        object.__setattr__(self, name, SymInt32(value))

    def __repr__(self):
        return f"KernelLaunchParams({', '.join(f'{name}={getattr(self, name)!r}' for name in _NAMES)})"

    def _write(self, target, builder):
        """Into the library's object."""
        for name in _NAMES:
            setattr(target, name, getattr(self, name)._symbol(builder))
