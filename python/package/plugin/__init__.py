# SPDX-License-Identifier: Apache-2.0
"""Plugins that are functions: one that describes the outputs, one that computes them.

    import tensorrt.plugin as trtp

    @trtp.register("example::scale")
    def describe(x: trtp.TensorDesc, factor: float) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("example::scale")
    def compute(x: trtp.Tensor, factor: float, outputs, stream: int):
        ...                                   # work on addresses, put on the stream

    layer = network.add_plugin(trtp.op.example.scale(tensor, factor=2.0))

docs/python.md of the project has a whole one.
"""
from ._autotune import AutoTuneCombination
from ._expressions import (ShapeExpr, ShapeExprs, SizeTensorShapeExpr, SymExprs, SymInt8, SymInt16, SymInt32, SymIntExprs, cdiv,
                           max, min)  # pylint: disable=redefined-builtin
from ._functions import aot_impl, autotune, impl, op, register
from ._launch import KernelLaunchParams
from ._tensors import Shape, SizeTensorDesc, Tensor, TensorDesc, from_shape_expr, size_tensor

__all__ = ["AutoTuneCombination", "KernelLaunchParams", "Shape", "ShapeExpr", "ShapeExprs", "SizeTensorDesc",
           "SizeTensorShapeExpr", "SymExprs", "SymInt16", "SymInt32", "SymInt8", "SymIntExprs", "Tensor", "TensorDesc", "aot_impl",
           "autotune", "cdiv", "from_shape_expr", "impl", "max", "min", "op", "register", "size_tensor"]
