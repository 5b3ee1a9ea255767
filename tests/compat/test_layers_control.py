# SPDX-License-Identifier: Apache-2.0
"""Loops, conditionals, and that no layer type is left out."""
import pathlib
import re

import numpy as np
import tensorrt_bindings as trt

from support import close, constant, random, run

HERE = pathlib.Path(__file__).resolve().parent

# Types that have no test of their own name: what tests them, or why nothing does.
ELSEWHERE = {
    "PLUGIN": "no function of the module adds it",
    "PLUGIN_V2": "test_plugins.py", "PLUGIN_V3": "test_plugins.py",
    "IDENTITY": "test_constant_and_identity", "DEQUANTIZE": "test_quantize_and_dequantize",
    "QUANTIZE": "test_quantize_and_dequantize", "CONSTANT": "test_constant_and_identity",
    "SQUEEZE": "test_squeeze_and_unsqueeze", "UNSQUEEZE": "test_squeeze_and_unsqueeze",
    "MOE": "test_mixture_of_experts", "KVCACHE_UPDATE": "test_kv_cache_update",
    "DIST_COLLECTIVE": "test_distributed_collective_can_be_added",
    "ATTENTION_INPUT": "test_attention", "ATTENTION_OUTPUT": "test_attention",
    "TRIP_LIMIT": "test_loop", "RECURRENCE": "test_loop", "ITERATOR": "test_loop", "LOOP_OUTPUT": "test_loop",
    "CONDITION": "test_conditional", "CONDITIONAL_INPUT": "test_conditional", "CONDITIONAL_OUTPUT": "test_conditional",
}


def test_every_layer_type_has_a_test():
    text = "".join(f.read_text() for f in HERE.glob("test_layers_*.py"))
    tests = set(re.findall(r"def (test_\w+)", text))
    for name in trt.LayerType.__members__:
        where = ELSEWHERE.get(name, f"test_{name.lower()}")
        assert where in tests or not where.startswith("test_") or (HERE / where).exists(), f"no test of {name}"


def test_loop():
    x = random(3, 4)

    def build(network, t):
        loop = network.add_loop()
        loop.name = "sum of rows"
        loop.add_trip_limit(constant(network, 3, np.int32), trt.TripLimit.COUNT)
        row = loop.add_iterator(t).get_output(0)
        total = loop.add_recurrence(constant(network, np.zeros(4)))
        next_total = network.add_elementwise(total.get_output(0), row, trt.ElementWiseOperation.SUM).get_output(0)
        total.set_input(1, next_total)
        last = loop.add_loop_output(total.get_output(0), trt.LoopOutput.LAST_VALUE)
        every = loop.add_loop_output(next_total, trt.LoopOutput.CONCATENATE)
        every.set_input(1, constant(network, 3, np.int32))
        types = [network.get_layer(i).type for i in range(network.num_layers)]
        for kind in (trt.LayerType.TRIP_LIMIT, trt.LayerType.ITERATOR, trt.LayerType.RECURRENCE,
                     trt.LayerType.LOOP_OUTPUT):
            assert kind in types
        assert every.kind == trt.LoopOutput.CONCATENATE and total.loop.name == "sum of rows"
        return [last.get_output(0), every.get_output(0)]

    sums = np.cumsum(x, 0)
    close(run(build, {"x": x}), [sums[2], sums])


def test_loop_while():
    def build(network, limit):
        loop = network.add_loop()
        value = loop.add_recurrence(constant(network, 1))
        two = constant(network, 2)
        doubled = network.add_elementwise(value.get_output(0), two, trt.ElementWiseOperation.PROD).get_output(0)
        value.set_input(1, doubled)
        less = network.add_elementwise(value.get_output(0), limit, trt.ElementWiseOperation.LESS).get_output(0)
        loop.add_trip_limit(less, trt.TripLimit.WHILE)
        return loop.add_loop_output(value.get_output(0), trt.LoopOutput.LAST_VALUE).get_output(0)

    close(run(build, {"limit": np.array(10, np.float32)}), [np.array(16, np.float32)])


def test_conditional():
    def build(network, choice, t):
        conditional = network.add_if_conditional()
        condition = conditional.set_condition(choice)
        inside = conditional.add_input(t)
        assert condition.type == trt.LayerType.CONDITION and inside.type == trt.LayerType.CONDITIONAL_INPUT
        yes = network.add_unary(inside.get_output(0), trt.UnaryOperation.EXP).get_output(0)
        no = network.add_unary(inside.get_output(0), trt.UnaryOperation.NEG).get_output(0)
        return conditional.add_output(yes, no).get_output(0)

    x = random(2, 3)
    close(run(build, {"choice": np.array(True), "x": x}), [np.exp(x)])
    close(run(build, {"choice": np.array(False), "x": x}), [-x])
