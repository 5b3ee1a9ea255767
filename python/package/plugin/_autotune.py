# SPDX-License-Identifier: Apache-2.0
"""Types, layouts and tactics that a plugin offers to the builder."""
import itertools

from .. import tensorrt as trt

_NAMES = {"FP32": trt.DataType.FLOAT, "FP16": trt.DataType.HALF}


def _type(name):
    if name in _NAMES:
        return _NAMES[name]
    if name not in trt.DataType.__members__ or name in ("FLOAT", "HALF"):
        known = [*_NAMES, *(n for n in trt.DataType.__members__ if n not in ("FLOAT", "HALF"))]
        raise ValueError(f"'{name}' is no type; expected one of {', '.join(known)}")
    return trt.DataType.__members__[name]


def _layout(name):
    if name not in trt.TensorFormat.__members__:
        raise ValueError(f"'{name}' is no layout; expected one of {', '.join(trt.TensorFormat.__members__)}")
    return trt.TensorFormat.__members__[name]


def _alternatives(text, convert):
    """('|' or '*', values) of one operand: "FP32|FP16"."""
    if "|" in text and "*" in text:
        raise ValueError(f"'{text}' mixes '|' (alike in all operands) and '*' (each on its own)")
    sign = "*" if "*" in text else "|"
    return sign, [convert(part.strip()) for part in text.split(sign)]


def _combined(operands, what):
    """All rows: operands joined by '|' take the same place of their lists, the others any."""
    together = [len(values) for sign, values in operands if sign == "|" and len(values) > 1]
    if len(set(together)) > 1:
        raise ValueError(f"{what}: operands joined by '|' have {', '.join(map(str, together))} alternatives; expected as many in each")
    rows = []
    for place in range(together[0] if together else 1):
        free = [[values[place]] if sign == "|" and len(values) > 1 else values for sign, values in operands]
        rows += itertools.product(*free)
    return rows


class AutoTuneCombination:
    """Types and layouts of all operands, inputs first, and the tactics for them.

    AutoTuneCombination("FP32|FP16, FP32|FP16", "LINEAR, LINEAR", [1, 2]): both operands in FP32 or both in FP16, each with
    two tactics. With '*' an operand takes each of its types on its own. One layout stands for all operands.
    """

    def __init__(self, io_types=None, layouts=None, tactics=None):
        self._operands, self._tactics = {}, list(tactics or [])
        if io_types is not None:
            types = [part.strip() for part in io_types.split(",")]
            formats = [part.strip() for part in (layouts or "LINEAR").split(",")]
            if len(formats) == 1:
                formats *= len(types)
            if len(formats) != len(types):
                raise ValueError(f"{len(formats)} layouts for {len(types)} operands")
            for place, (kind, layout) in enumerate(zip(types, formats)):
                self.pos(place, kind, layout)
        elif layouts is not None:
            raise ValueError("layouts without types")

    def pos(self, pos, io_types, layouts="LINEAR"):
        """Types and layouts of one operand, or of several at once."""
        for place in (pos if hasattr(pos, "__iter__") else [pos]):
            self._operands[place] = (_alternatives(io_types, _type), _alternatives(layouts, _layout))

    def tactics(self, tactics):
        """Positive numbers, from which the builder chooses the fastest."""
        self._tactics = list(tactics)

    def _rows(self, count):
        """[(type, layout) of each operand] for each combination."""
        missing = [place for place in range(count) if place not in self._operands]
        if missing or len(self._operands) != count:
            raise ValueError(f"the combination names the operands {sorted(self._operands)}; expected 0 to {count - 1}")
        operands = [self._operands[place] for place in range(count)]
        types = _combined([t for t, _ in operands], "io_types")
        layouts = _combined([layout for _, layout in operands], "layouts")
        return [list(zip(t, f)) for t in types for f in layouts]
