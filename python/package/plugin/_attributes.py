# SPDX-License-Identifier: Apache-2.0
"""Attributes of plugins that are functions: their types in Python, and the fields that hold them."""
import inspect
import typing

from .. import tensorrt as trt

_FIELD = trt.PluginFieldType
# Of single values: the type of a field, and of numpy.
_SCALARS = {int: (_FIELD.INT64, "int64"), float: (_FIELD.FLOAT64, "float64"), bool: (_FIELD.INT8, "int8")}
_ARRAYS = {"int8": _FIELD.INT8, "int16": _FIELD.INT16, "int32": _FIELD.INT32, "int64": _FIELD.INT64, "float16": _FIELD.FLOAT16,
           "float32": _FIELD.FLOAT32, "float64": _FIELD.FLOAT64, "bool": _FIELD.INT8}


def _array_type(annotation):
    """The name of numpy's type in NDArray[type]; None for other annotations."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if hasattr(origin, "__value__"):  # numpy 2.5 and later: NDArray is an alias, which Python 3.12 keeps as it was written
        annotation = origin.__value__[arguments]
        arguments = typing.get_args(annotation)
    inner = typing.get_args(arguments[1]) if len(arguments) == 2 else ()
    if getattr(typing.get_origin(annotation), "__name__", "") != "ndarray" or not inner:
        return None
    import numpy  # pylint: disable=import-outside-toplevel
    return numpy.dtype(inner[0]).name


class Attribute:
    """One attribute: its name, its type, its default."""

    def __init__(self, plugin_id, name, annotation, default):
        self.name, self.annotation = name, annotation
        self.has_default = default is not inspect.Parameter.empty
        self.default = default if self.has_default else None
        self.array = None
        if annotation not in (int, float, bool, str, bytes):
            self.array = _array_type(annotation)
            if self.array not in _ARRAYS:
                raise ValueError(f"{plugin_id}: attribute '{name}' is a {annotation}; expected int, float, str, bool, bytes, or "
                                 f"numpy.typing.NDArray of {', '.join(_ARRAYS)}")

    @property
    def _type(self):
        if self.array:
            return _ARRAYS[self.array]
        return _SCALARS[self.annotation][0] if self.annotation in _SCALARS else _FIELD.CHAR if self.annotation is str else _FIELD.UNKNOWN

    def checked(self, plugin_id, value):
        """The value of a call, as its type says; TypeError where it is another."""
        if self.array:
            import numpy  # pylint: disable=import-outside-toplevel
            array = numpy.asarray(value)
            if array.dtype.name != self.array or array.ndim != 1:
                raise TypeError(f"{plugin_id}: attribute '{self.name}' is an array of {array.dtype} with {array.ndim} axes; expected "
                                f"{self.array} and one axis")
            return array
        if self.annotation is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if not isinstance(value, self.annotation) or self.annotation is int and isinstance(value, bool):
            raise TypeError(f"{plugin_id}: attribute '{self.name}' is a {type(value).__name__}; expected {self.annotation.__name__}")
        return value

    def field(self, value=None):
        """The attribute as a field; without a value, its name and type."""
        if value is None:
            field = trt.PluginField(self.name)
            field.type = self._type
            return field
        if self.annotation in _SCALARS:
            import numpy  # pylint: disable=import-outside-toplevel
            value = numpy.array([value], _SCALARS[self.annotation][1])
        return trt.PluginField(self.name, value, self._type)

    def read(self, plugin_id, field):
        """The value of a field; numbers of an ONNX node may have another width."""
        data = field.data
        if self.annotation is str:
            return data.tobytes().decode()
        if self.annotation is bytes:
            return data.tobytes()
        import numpy  # pylint: disable=import-outside-toplevel
        if field.type == _FIELD.CHAR:
            raise ValueError(f"{plugin_id}: attribute '{self.name}' is a text; expected numbers")
        if self.array:
            return numpy.array(data).astype(self.array)
        if len(data) != 1:
            raise ValueError(f"{plugin_id}: attribute '{self.name}' has {len(data)} elements; expected 1")
        return self.annotation(data[0])
