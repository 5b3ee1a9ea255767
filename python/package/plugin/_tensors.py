# SPDX-License-Identifier: Apache-2.0
"""What functions of plugins are told of their tensors."""
from .. import tensorrt as trt
from ._expressions import ShapeExpr, ShapeExprs, SizeTensorShapeExpr

_TYPESTR = {trt.DataType.FLOAT: "<f4", trt.DataType.HALF: "<f2", trt.DataType.INT8: "|i1", trt.DataType.INT32: "<i4",
            trt.DataType.INT64: "<i8", trt.DataType.BOOL: "|b1", trt.DataType.UINT8: "|u1", trt.DataType.BF16: "<u2",
            trt.DataType.FP8: "|u1"}
_ITEM_SIZES = {trt.DataType.FLOAT: 4, trt.DataType.HALF: 2, trt.DataType.BF16: 2, trt.DataType.INT32: 4, trt.DataType.INT64: 8}


class Shape:
    """Extents as numbers; -1 for those that vary, which then have a least, a usual and a greatest value."""

    def __init__(self, tensor_desc=None):
        self._extents, self._ranges = (), None
        if isinstance(tensor_desc, trt.DynamicPluginTensorDesc):
            self._extents = tuple(tensor_desc.desc.dims)
            self._ranges = tuple(map(tuple, (tensor_desc.min, tensor_desc.opt, tensor_desc.max)))
        elif isinstance(tensor_desc, trt.PluginTensorDesc):
            self._extents = tuple(tensor_desc.dims)
        elif isinstance(tensor_desc, (tuple, list, Shape)):
            self._extents = tuple(tensor_desc)
        elif tensor_desc is not None:
            raise ValueError(f"a shape from {type(tensor_desc).__name__}; expected extents or a description of a tensor")

    def numel(self):
        """The number of elements. ValueError where an extent varies."""
        if self.is_dynamic:
            raise ValueError(f"the shape {self} has no one number of elements")
        return trt_volume(self._extents)

    def __iter__(self):
        return iter(self._extents)

    def __len__(self):
        return len(self._extents)

    def __getitem__(self, index):
        return self._extents[index]

    def __setitem__(self, index, value):
        extents = list(self._extents)
        extents[index] = value
        self._extents = tuple(extents)

    def __eq__(self, other):
        return self._extents == tuple(other)

    __hash__ = None

    def __repr__(self):
        return f"Shape{self._extents}"

    def __str__(self):
        return str(self._extents)

    @property
    def is_dynamic(self):
        """Whether an extent varies."""
        return any(extent < 0 for extent in self._extents)

    def _range(self, place):
        if self._ranges is None:
            raise ValueError("only shapes that vary have a least, a usual and a greatest value")
        return self._ranges[place]

    @property
    def min(self):
        """The least extents that the plugin will see."""
        return self._range(0)

    @property
    def opt(self):
        """The extents that the plugin is measured with."""
        return self._range(1)

    @property
    def max(self):
        """The greatest extents that the plugin will see."""
        return self._range(2)


def trt_volume(extents):
    product = 1
    for extent in extents:
        product *= extent
    return product


class TensorDesc:
    """A tensor without data: its shape as expressions while it is described, as numbers while it is tuned."""

    def __init__(self, shape_expr=None, dtype=None, format=None, scale=None):  # pylint: disable=redefined-builtin
        self._aliased, self._shape = None, None
        if shape_expr is not None and not isinstance(shape_expr, ShapeExprs):
            shape_expr = ShapeExprs.from_tuple(shape_expr)
        self._shape_expr, self._dtype, self._format, self._scale = shape_expr, dtype, format, scale

    @classmethod
    def _described(cls, desc):
        """From a (dynamic) description of the library's."""
        made = cls()
        made._take(desc)
        return made

    def _take(self, desc):
        """Type, format and extents that the library gave."""
        static = desc.desc if isinstance(desc, trt.DynamicPluginTensorDesc) else desc
        self._dtype, self._format, self._scale, self._shape = static.type, static.format, static.scale, Shape(desc)

    def numel(self):
        """The number of elements, as a number where that is known, else as an expression."""
        if self._shape is not None and not (self._shape_expr is not None and self._shape.is_dynamic):
            return self._shape.numel()
        return self.shape_expr.numel()

    @property
    def ndim(self):
        """The number of axes."""
        return len(self._shape if self._shape is not None else self.shape_expr)

    @property
    def is_size_tensor(self):
        """Whether it holds an extent of another output."""
        return False

    def _copy(self):
        made = TensorDesc(self._shape_expr and ShapeExprs.from_tuple(self._shape_expr), self._dtype, self._format, self._scale)
        made._shape = self._shape and Shape(self._shape)
        return made

    def like(self):
        """A tensor of the same shape and type."""
        return self._copy()

    def aliased(self):
        """A tensor that shares this one's memory. It cannot be changed."""
        made = self._copy()
        made._aliased = self
        return made

    def get_aliased(self):
        """The tensor whose memory it shares; None for none."""
        return self._aliased

    @property
    def is_aliased(self):
        """Whether it shares another tensor's memory."""
        return self._aliased is not None

    @property
    def has_shape(self):
        """Whether its shape is there as numbers."""
        return self._shape is not None

    @property
    def has_shape_expr(self):
        """Whether its shape is there as expressions."""
        return self._shape_expr is not None

    @property
    def is_dynamic(self):
        """Whether an extent varies."""
        return self.shape.is_dynamic


def _attribute(name, text, needs_shape=False):
    hidden = "_" + name

    def read(self):
        if needs_shape and self._shape is None:
            raise ValueError(f"{name} of a tensor whose shape is no numbers yet (has_shape)")
        value = getattr(self, hidden)
        if name == "shape_expr" and value is None:
            raise ValueError("the tensor has no expressions here (has_shape_expr)")
        return value

    def write(self, value):
        if self._aliased is not None:
            raise ValueError(f"{name} of a tensor that shares another's memory cannot be changed")
        if name == "shape_expr" and not isinstance(value, ShapeExprs):
            value = ShapeExprs.from_tuple(value)
        if name == "shape" and not isinstance(value, Shape):
            value = Shape(value)
        setattr(self, hidden, value)

    return property(read, write, doc=text)


TensorDesc.shape_expr = _attribute("shape_expr", "The shape as expressions.")
TensorDesc.shape = _attribute("shape", "The shape as numbers.", True)
TensorDesc.dtype = _attribute("dtype", "The type of the elements.")
TensorDesc.format = _attribute("format", "How the elements lie in memory.", True)
TensorDesc.scale = _attribute("scale", "What INT8 elements are multiplied by.", True)


class SizeTensorDesc(TensorDesc):
    """A scalar output that holds an extent of another output."""

    def __init__(self, opt, upper_bound):
        super().__init__((), trt.DataType.INT32)
        self._opt, self._upper_bound, self._index = ShapeExpr(opt), ShapeExpr(upper_bound), None

    @property
    def is_size_tensor(self):
        return True

    @property
    def opt(self):
        """The extent to measure with."""
        return self._opt

    @property
    def upper_bound(self):
        """The greatest extent."""
        return self._upper_bound

    @property
    def index(self):
        """Its place among the outputs."""
        if self._index is None:
            raise ValueError("the size tensor is no output yet")
        return self._index

    def expr(self):
        """The extent that it holds."""
        return SizeTensorShapeExpr(self)


class Tensor:
    """A tensor of one execution: an address of the device, and what lies there."""

    __slots__ = ("data_ptr", "dtype", "shape", "format", "scale", "strides", "_aliased", "_stream")

    def __init__(self):
        self.data_ptr, self.dtype, self.shape, self.format, self.scale, self.strides = None, None, None, None, None, None
        self._aliased, self._stream = None, None

    @classmethod
    def _described(cls, desc, address, strides, stream):
        made = cls()
        made.data_ptr, made.dtype, made.format, made.scale = address, desc.type, desc.format, desc.scale
        made.shape, made.strides, made._stream = Shape(desc), tuple(strides), stream
        return made

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    def numel(self):
        """The number of elements. ValueError where only the run knows it."""
        return self.shape.numel()

    @property
    def is_data_dependent(self):
        """Whether an extent is known only when the run is over."""
        return self.shape.is_dynamic

    @property
    def __cuda_array_interface__(self):
        if self.dtype in (trt.DataType.BF16, trt.DataType.FP8) or self.dtype not in _TYPESTR:
            raise AttributeError(f"arrays of {self.dtype} have no name in __cuda_array_interface__")
        size = _ITEM_SIZES.get(self.dtype, 1)
        return {"shape": tuple(self.shape), "typestr": _TYPESTR[self.dtype], "data": (self.data_ptr, False), "version": 3,
                "strides": tuple(stride * size for stride in self.strides), "stream": self._stream or None}

    def get_aliased(self):
        """The tensor whose memory it shares; None for none."""
        return self._aliased

    @property
    def is_aliased(self):
        """Whether it shares another tensor's memory."""
        return self._aliased is not None

    def aliased(self, shape=None):
        """The same memory as another shape, with as many elements."""
        made = Tensor()
        for name in Tensor.__slots__:
            setattr(made, name, getattr(self, name))
        made._aliased = self
        if shape is not None:
            made.shape = Shape(shape)
            if made.shape.numel() != self.numel():
                raise ValueError(f"the shape {made.shape} has {made.shape.numel()} elements; expected {self.numel()}")
            strides, step = [], 1
            for extent in reversed(tuple(made.shape)):
                strides.insert(0, step)
                step *= extent
            made.strides = tuple(strides)
        return made


def from_shape_expr(shape_expr, dtype):
    """A description of a tensor from its shape and type."""
    return TensorDesc(shape_expr, dtype)


def size_tensor(opt, upper_bound):
    """An output that holds an extent of another one: what to measure with, and the greatest one."""
    return SizeTensorDesc(opt, upper_bound)
