# SPDX-License-Identifier: Apache-2.0
"""Reads stored inputs and right answers: .npz of numpy, and tensors in ONNX's protobuf form. Standard library only."""
import array
import ast
import json
import math
import struct
import zipfile

CODES = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "u1": "B", "i1": "b", "b1": "B", "i2": "h", "u2": "H"}


class Array:
    """Type code of the array module (or f2, U...), extents, and the raw bytes in row-major order."""

    def __init__(self, kind, shape, data):
        self.kind, self.shape, self.data = kind, shape, data

    def values(self):
        if self.kind == "f2":
            return [value for (value,) in struct.iter_unpack("<e", self.data)]
        values = array.array(CODES[self.kind])
        values.frombytes(self.data)
        return values


def read_npy(data):
    if data[:6] != b"\x93NUMPY":
        raise ValueError("not an array file of numpy")
    wide = data[6] > 1
    (length,) = struct.unpack_from("<I" if wide else "<H", data, 8)
    begin = (12 if wide else 10) + length
    header = ast.literal_eval(data[begin - length:begin].decode("latin1"))
    if header["fortran_order"] and len(header["shape"]) > 1:
        raise ValueError("column-major arrays are not read here")
    return Array(header["descr"].lstrip("<|="), header["shape"], data[begin:])


def read_npz(path):
    with zipfile.ZipFile(path) as file:
        return {name.removesuffix(".npy"): read_npy(file.read(name)) for name in file.namelist()}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def read_tensor_proto(data):
    """A float TensorProto: dims are field 1, floats field 4 (packed), raw bytes field 9."""
    shape, raw, at = [], b"", 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
            if key >> 3 == 1:
                shape.append(value)
            elif key >> 3 == 2 and value != 1:
                raise ValueError(f"a tensor of ONNX type {value}; expected 1 (float)")
        elif key & 7 == 5:
            raw, at = raw + data[at:at + 4], at + 4
        else:
            length, at = varint(data, at)
            body, at = data[at:at + length], at + length
            if key >> 3 == 1:
                inner = 0
                while inner < len(body):
                    value, inner = varint(body, inner)
                    shape.append(value)
            elif key >> 3 in (4, 9):
                raw += body
    return Array("f4", tuple(shape), raw)


def golden_of(models, path):
    """Inputs {name: Array} and expected outputs [(name or None, stride, values)] of a model, or None.

    The light networks come with their output for the input k/n (k = 0 .. n-1), which has no name here.
    """
    stored = models / "inputs/golden_ort1.20.1" / (path.stem + ".npz")
    if stored.exists():
        arrays = read_npz(stored)
        names = json.loads(arrays.pop("names").data.decode("utf-32-le").rstrip("\0"))
        inputs = {name: arrays[key] for key, name in names.items() if key.startswith("in")}
        outputs = []
        for key, value in arrays.items():
            if key.startswith("out") and not key.endswith("_shape"):
                stem, _, stride = key.partition("_stride")
                outputs.append((names[stem], int(stride or 1), value.values()))
        return inputs, outputs
    answer = path.with_name(path.stem + "_output_0.pb")
    if answer.exists():
        count = 3 * 224 * 224
        image = array.array("f", (k / count for k in range(count)))
        return {None: Array("f4", (1, 3, 224, 224), image.tobytes())}, \
            [(None, 1, read_tensor_proto(answer.read_bytes()).values())]
    return None


def error_of(found, stride, expected):
    """The greatest difference relative to the greatest expected value; infinite where sizes or NaNs differ. Differences
    of at most 1e-6 are none: the stored answers are themselves FP32 (ONNX Runtime's sigmoid stops at +-18, for one)."""
    found = found[::stride]
    if len(found) != len(expected):
        return math.inf
    greatest = max((abs(value) for value in expected if math.isfinite(value)), default=0.0)
    worst = 0.0
    for ours, right in zip(found, expected):
        if ours == right or (math.isnan(ours) and math.isnan(right)):
            continue
        difference = abs(ours - right)
        if math.isnan(difference):
            return math.inf
        worst = max(worst, difference if difference > 1e-6 else 0.0)
    return worst / max(greatest, 1e-30)
