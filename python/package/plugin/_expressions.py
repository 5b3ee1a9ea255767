# SPDX-License-Identifier: Apache-2.0
"""Extents as expressions: numbers, what the library's builder of expressions makes, or unknown ones where nobody asks."""
import builtins

from .. import tensorrt as trt

_OPERATION = trt.DimensionOperation


def _ceil_div(a, b):
    return -(-a // b)


_FOLD = {
    _OPERATION.SUM: lambda a, b: a + b, _OPERATION.SUB: lambda a, b: a - b, _OPERATION.PROD: lambda a, b: a * b,
    _OPERATION.MAX: builtins.max, _OPERATION.MIN: builtins.min, _OPERATION.FLOOR_DIV: lambda a, b: a // b,
    _OPERATION.CEIL_DIV: _ceil_div, _OPERATION.EQUAL: lambda a, b: int(a == b), _OPERATION.LESS: lambda a, b: int(a < b),
}


class SymIntExpr:
    """An integer that may depend on extents. Without a value it is unknown: a stand-in where only types are asked for."""

    __slots__ = ("_number", "_native", "_builder")
    __hash__ = None
    _width = trt.PluginArgDataType.INT32

    def __init__(self, value=None, builder=None):
        self._number, self._native, self._builder = None, None, builder
        if isinstance(value, SymIntExpr):
            self._number, self._native, self._builder = value._number, value._native, value._builder
        elif isinstance(value, trt.IDimensionExpr):
            self._native = value
            if value.is_constant():
                self._number = value.get_constant_value()
        elif value is not None:
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                raise TypeError(f"an expression from {value!r}; expected an integer or an expression")
            self._number = value.__index__()

    @property
    def _is_unknown(self):
        return self._number is None and self._native is None

    def _in(self, builder):
        """The library's expression."""
        if self._native is not None:
            return self._native
        if self._number is None:
            raise RuntimeError("the expression is unknown outside of questions about shapes")
        return builder.constant(self._number)

    def _symbol(self, builder):
        """The library's number for a launch."""
        symbol = trt.ISymExpr()
        symbol.type, symbol.dtype, symbol.expr = trt.PluginArgType.INT, self._width, self._in(builder)
        return symbol

    def _op(self, operation, other):
        if not isinstance(other, SymIntExpr):
            if isinstance(other, bool) or not hasattr(other, "__index__"):
                return NotImplemented
            other = type(self)(other)
        kind = type(self) if isinstance(self, type(other)) else type(other)
        if self._number is not None and other._number is not None:
            if operation in (_OPERATION.FLOOR_DIV, _OPERATION.CEIL_DIV) and other._number == 0:
                raise ValueError("an extent is divided by 0")
            return kind(_FOLD[operation](self._number, other._number))
        if self._is_unknown or other._is_unknown:
            return kind()
        builder = self._builder or other._builder
        if builder is None:
            raise RuntimeError("the expression came from no question about shapes")
        result = kind(builder.operation(operation, self._in(builder), other._in(builder)))
        result._builder = builder
        return result

    def _from_right(self, operation, other):
        return NotImplemented if not hasattr(other, "__index__") else type(self)(other)._op(operation, self)

    def __add__(self, other):
        return self._op(_OPERATION.SUM, other)

    def __radd__(self, other):
        return self._from_right(_OPERATION.SUM, other)

    def __sub__(self, other):
        return self._op(_OPERATION.SUB, other)

    def __rsub__(self, other):
        return self._from_right(_OPERATION.SUB, other)

    def __mul__(self, other):
        return self._op(_OPERATION.PROD, other)

    def __rmul__(self, other):
        return self._from_right(_OPERATION.PROD, other)

    def __floordiv__(self, other):
        return self._op(_OPERATION.FLOOR_DIV, other)

    def __rfloordiv__(self, other):
        return self._from_right(_OPERATION.FLOOR_DIV, other)

    def __eq__(self, other):
        return self._op(_OPERATION.EQUAL, other)

    def __lt__(self, other):
        return self._op(_OPERATION.LESS, other)

    def __bool__(self):
        if self._number is None:
            raise RuntimeError("the truth of an expression that is not constant; is_constant says whether it is")
        return self._number != 0

    def __repr__(self):
        value = "unknown" if self._is_unknown else "symbol" if self._number is None else self._number
        return f"{type(self).__name__}({value})"

    @property
    def is_constant(self):
        """Whether the number is known while the engine is built. RuntimeError where the expression is unknown."""
        if self._is_unknown:
            raise RuntimeError("the expression is unknown here (is_fake)")
        return self._number is not None

    def constant_value(self):
        """The number of a constant expression; RuntimeError for others."""
        if not self.is_constant:
            raise RuntimeError("the expression is not constant")
        return self._number


class SymInt32(SymIntExpr):
    """An argument of a kernel with 32 bits."""
    __slots__ = ()


class SymInt16(SymIntExpr):
    """An argument of a kernel with 16 bits."""
    __slots__ = ()
    _width = trt.PluginArgDataType.INT16


class SymInt8(SymIntExpr):
    """An argument of a kernel with 8 bits."""
    __slots__ = ()
    _width = trt.PluginArgDataType.INT8


class ShapeExpr(SymInt32):
    """One extent of a tensor."""
    __slots__ = ()

    @property
    def is_fake(self):
        """Whether nothing is known of the extent: the function was called for types only."""
        return self._is_unknown

    @property
    def is_size_tensor(self):
        """Whether the extent is what a size tensor holds."""
        return self._native is not None and self._native.is_size_tensor()


class SizeTensorShapeExpr(ShapeExpr):
    """The extent that a size tensor holds; the run alone knows it."""
    __slots__ = ("size_tensor",)

    def __init__(self, size_tensor_desc):
        super().__init__()
        self.size_tensor = size_tensor_desc

    @property
    def is_size_tensor(self):
        return True

    def _op(self, operation, other):
        raise ValueError("nothing can be computed from the extent that a size tensor holds")

    def _in(self, builder):
        size = self.size_tensor
        return builder.declare_size_tensor(size.index, size.opt._in(builder), size.upper_bound._in(builder))


class SymExprs:
    """A row of expressions."""

    kind = SymIntExpr

    def __init__(self, length):
        self._items = [self.kind() for _ in range(length)]

    @classmethod
    def from_tuple(cls, shape_exprs):
        row = cls(0)
        row._items = [row._of(item) for item in shape_exprs]
        return row

    def _of(self, item):
        return item if isinstance(item, SymIntExpr) and isinstance(item, self.kind) else self.kind(item)

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        found = self._items[index]
        return type(self).from_tuple(found) if isinstance(index, slice) else found

    def __setitem__(self, index, value):
        self._items[index] = [self._of(v) for v in value] if isinstance(index, slice) else self._of(value)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(map(repr, self._items))})"


class SymIntExprs(SymExprs):
    """The arguments of a kernel that are numbers."""


class ShapeExprs(SymExprs):
    """The shape of a tensor. At most 8 extents."""

    kind = ShapeExpr

    def __init__(self, length, _is_dummy=False):  # pylint: disable=unused-argument
        if length > trt.Dims.MAX_DIMS:
            raise ValueError(f"a shape of {length} extents; expected at most {trt.Dims.MAX_DIMS}")
        super().__init__(length)

    def numel(self):
        """The number of elements; 1 for a scalar."""
        product = ShapeExpr(1)
        for extent in self._items:
            product = product * extent
        return product


def _symbolic(operation, first, second, name):
    if not isinstance(first, SymIntExpr) and not isinstance(second, SymIntExpr):
        raise ValueError(f"{name}({first}, {second}): expected at least one expression")
    return (first if isinstance(first, SymIntExpr) else ShapeExpr(first))._op(operation, second)


def cdiv(first, second):
    """first / second, rounded up. One of the two at least is an expression."""
    return _symbolic(_OPERATION.CEIL_DIV, first, second, "cdiv")


def max(first, second):  # pylint: disable=redefined-builtin
    """The greater one. One of the two at least is an expression."""
    return _symbolic(_OPERATION.MAX, first, second, "max")


def min(first, second):  # pylint: disable=redefined-builtin
    """The smaller one. One of the two at least is an expression."""
    return _symbolic(_OPERATION.MIN, first, second, "min")
