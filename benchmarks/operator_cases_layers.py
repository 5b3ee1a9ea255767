# SPDX-License-Identifier: Apache-2.0
"""The cases of operator_speed.py --layers: products, bytes, recurrences and attention as layers of networks have them, chains of
several operators among them."""
import numpy as np
import onnx
from onnx import helper

from operator_models import KINDS, RANDOM, Case, Table, values, weights
from operator_cases_products import signed, text

SMALL = np.float32(0.02)


def chain(inputs, lines, constants, outputs):
    """`inputs` and `constants` by name; `lines`: (outputs, operator, inputs, attributes) each, names apart from each other by spaces."""
    nodes = []
    for to, op, names, *attributes in lines:
        op, _, domain = op.partition("@")
        nodes.append(helper.make_node(op, names.split(" "), to.split(" "), domain=domain, **(attributes[0] if attributes else {})))
    infos = [helper.make_tensor_value_info(name, KINDS[kind][0], shape) for name, (kind, shape, *_) in inputs.items()]
    initializers = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "chain", infos, [onnx.ValueInfoProto(name=name) for name in outputs.split(" ")], initializers)
    opsets = [helper.make_opsetid("", 19), helper.make_opsetid("com.microsoft", 1)]
    made = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=10), data_prop=True)
    return Case(made, {name: values(*of) for name, of in inputs.items()}, {kind for kind, *_ in inputs.values()})


class Layers(Table):
    def chain(self, name, *parts):
        assert name not in self, name
        self[name] = lambda: chain(*parts)

    def microsoft(self, name, op, inputs, constants=(), outputs=1, **attributes):
        self.add(name, op, inputs, constants, outputs, domain="com.microsoft", **attributes)


def quantized(table):
    for m, k, n in ((1, 768, 3072), (128, 768, 768), (37, 312, 312), (16, 1024, 256), (1, 64, 10)):
        table.chain(f"dynamic quantization {m}x{k}x{n}", {"x": ("f32", (1, m, k), -1, 1)},
                    [("q s z", "DynamicQuantizeLinear", "x"), ("p", "MatMulInteger", "q w z wz"), ("f", "Cast", "p", {"to": 1}), ("sw", "Mul", "s ws"),
                     ("g", "Mul", "f sw"), ("y", "Add", "g b")],
                    {"w": signed(k, n), "wz": np.int8(0), "ws": SMALL, "b": weights(n)}, "y")
    for b, h, s, d in ((1, 12, 128, 64), (1, 12, 1, 64), (2, 4, 33, 32)):
        table.chain(f"dynamic quantization of scores {b}x{h}x{s}x{d}", {"q": ("f32", (b, h, s, d), -1, 1), "k": ("f32", (b, h, d, 128), -1, 1)},
                    [("a as az", "DynamicQuantizeLinear", "q"), ("b bs bz", "DynamicQuantizeLinear", "k"), ("p", "MatMulInteger", "a b az bz"),
                     ("f", "Cast", "p", {"to": 1}), ("s", "Mul", "as bs"), ("y", "Mul", "f s")], {}, "y")
    for x, w, form in (((1, 64, 56, 56), (64, 64, 3, 3), dict(pads=[1] * 4)), ((1, 256, 14, 14), (512, 256, 1, 1), {}), ((1, 96, 28, 28), (96, 1, 3, 3),
                       dict(pads=[1] * 4, group=96)), ((1, 3, 112, 112), (32, 3, 3, 3), dict(pads=[1] * 4, strides=[2, 2])),
                       ((1, 64, 200), (64, 64, 3), dict(pads=[1, 1])), ((8, 32, 14, 14), (48, 32, 1, 1), {})):
        for zero in (np.uint8(3), np.int8(0)):
            table.chain(f"Q DQ Conv per channel {zero.dtype} {text(x, w)}", {"x": ("f32", x, -1, 1)},
                        [("q", "QuantizeLinear", "x s z"), ("a", "DequantizeLinear", "q s z"), ("c", "DequantizeLinear", "w ws", {"axis": 0}),
                         ("d", "DequantizeLinear", "b bs", {"axis": 0}), ("e", "Conv", "a c d", form), ("f", "Relu", "e"), ("g", "QuantizeLinear", "f t z"),
                         ("y", "DequantizeLinear", "g t z")],
                        {"s": SMALL, "t": np.float32(0.1), "z": zero, "w": signed(*w), "ws": np.abs(weights(w[0])) + SMALL,
                         "b": np.arange(w[0], dtype=np.int32), "bs": np.abs(weights(w[0])) + SMALL}, "y")
    for m, k, n in ((128, 768, 768), (1, 512, 1000), (50, 200, 70)):
        table.chain(f"Q DQ MatMul {m}x{k}x{n}", {"x": ("f32", (m, k), -1, 1)},
                    [("q", "QuantizeLinear", "x s z"), ("a", "DequantizeLinear", "q s z"), ("c", "DequantizeLinear", "w ws", {"axis": 1}),
                     ("e", "MatMul", "a c"), ("f", "Add", "e b"), ("g", "QuantizeLinear", "f t z"), ("y", "DequantizeLinear", "g t z")],
                    {"s": SMALL, "t": np.float32(0.1), "z": np.uint8(128), "w": signed(k, n), "ws": np.abs(weights(n)) + SMALL, "b": weights(n)}, "y")
        table.chain(f"Q DQ MatMul of two {m}x{k}x{n}", {"u": ("f32", (m, k), -1, 1), "v": ("f32", (k, n), -1, 1)},
                    [("q", "QuantizeLinear", "u s z"), ("a", "DequantizeLinear", "q s z"), ("r", "QuantizeLinear", "v s z"),
                     ("c", "DequantizeLinear", "r s z"), ("f", "MatMul", "a c"), ("g", "QuantizeLinear", "f t z"), ("y", "DequantizeLinear", "g t z")],
                    {"s": SMALL, "t": np.float32(0.1), "z": np.uint8(128)}, "y")
    for shape in ((1, 768), (128, 768), (1, 3, 224, 224), (1, 7), (33, 1000)):
        table.add(f"DynamicQuantizeLinear {text(shape)}", "DynamicQuantizeLinear", [("f32", shape, -1, 1)], outputs=3)
    for t, zero in (("i8", np.int8(0)), ("u8", np.uint8(7))):
        table.add(f"DequantizeLinear {t} rows", "DequantizeLinear", [(t, (768, 768))], [np.abs(weights(768)), np.full(768, zero)], axis=0)
        table.add(f"DequantizeLinear {t} columns", "DequantizeLinear", [(t, (768, 769))], [np.abs(weights(769)), np.full(769, zero)], axis=1)
        table.add(f"QuantizeLinear {t} columns", "QuantizeLinear", [("f32", (768, 769))], [np.abs(weights(769)) + SMALL, np.full(769, zero)], axis=1)
    for a, b, signs in (((4, 16, 64, 64), (4, 16, 64, 64), "u8 i8"), ((64, 300), (300, 64), "i8 i8"), ((8, 1, 256), (8, 256, 50), "u8 u8"),
                        ((61, 67), (67, 71), "i8 u8"), ((1, 4096), (4096, 4096), "u8 i8")):
        left, right = signs.split(" ")
        zeros = {"u8": np.uint8(131), "i8": np.int8(-3)}
        if (left, right) != ("i8", "u8"):
            table.add(f"MatMulInteger computed {signs} {text(a, b)}", "MatMulInteger", [(left, a), (right, b)], [zeros[left], zeros[right]])


def recurrences(table):
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for steps, batch, width, units, ways in ((50, 8, 128, 256, 2), (100, 16, 40, 128, 1), (200, 1, 80, 256, 2), (30, 64, 64, 64, 1), (10, 3, 300, 512, 1),
                                                 (7, 5, 13, 17, 1), (400, 2, 32, 32, 1)):
            constants = [weights(ways, gates * units, width), weights(ways, gates * units, units), weights(ways, 2 * gates * units)]
            extra = {"direction": "bidirectional"} if ways == 2 else {}
            if op == "GRU" and batch > 4:
                extra["linear_before_reset"] = 1
            table.add(f"{op} {steps} steps batch {batch} {width} to {units} {ways} ways", op, [("f32", (steps, batch, width), -1, 1)], constants, outputs=2,
                      hidden_size=units, **extra)
        constants = [weights(1, gates * 64, 32), weights(1, gates * 64, 64), None, np.array([20, 11, 7, 3], np.int32)]
        table.add(f"{op} of lengths", op, [("f32", (20, 4, 32), -1, 1)], constants, outputs=2, hidden_size=64)


def products(table):
    for m, k, n in ((1, 768, 768), (128, 768, 768), (300, 1, 300), (61, 67, 71), (16, 3072, 768)):
        table.add(f"MatMul f16 {m}x{k}x{n}", "MatMul", [("f16", (m, k), -1, 1)], [weights(k, n).astype(np.float16)])
        table.add(f"Gemm f16 {m}x{k}x{n}", "Gemm", [("f16", (m, k), -1, 1)], [weights(n, k).astype(np.float16), weights(n).astype(np.float16)], transB=1)
    for c in ((1,), (70, 1), (1, 90), (70, 90), (90,)):
        for beta in (1.0, 0.5):
            table.add(f"Gemm of C {text(c)} beta {beta}", "Gemm", [("f32", (70, 80), -1, 1), ("f32", (80, 90), -1, 1), ("f32", c, -1, 1)], alpha=0.5, beta=beta)
    for x, y in (((4, 1, 50, 64), (1, 8, 64, 50)), ((8, 50, 64), (64, 50)), ((50, 64), (8, 64, 32)), ((1, 1, 100, 100), (4, 16, 100, 20)), ((300,), (300, 200)),
                 ((200, 300), (300,)), ((500,), (500,)), ((64, 1, 100), (64, 100, 1)), ((64, 100, 1), (64, 1, 100)), ((127, 131), (131, 137)),
                 ((251, 257), (257, 263)), ((1, 4096), (4096, 1000)), ((4096, 1), (1, 33)), ((1000, 16), (16, 1000)), ((3, 3), (3, 100000)),
                 ((100000, 3), (3, 3)), ((2, 3, 1), (2, 1, 5)), ((1, 1), (1, 1)), ((16, 12, 128, 1), (16, 12, 1, 64)), ((5, 4096, 8), (8, 8)),
                 ((12, 77, 64), (12, 64, 77)), ((1024, 100), (100, 2)), ((2, 1024), (1024, 1024))):
        table.add(f"MatMul {text(x, y)}", "MatMul", [("f32", x, -1, 1), ("f32", y, -1, 1)])
    for x, perm, y, order in (((2, 50, 4, 32), [0, 2, 3, 1], (2, 4, 60, 32), "y r"), ((64, 200), [1, 0], (64, 100), "r y"),
                              ((8, 32, 77), [0, 2, 1], (8, 32, 40), "r y")):
        table.chain(f"MatMul of transposed {text(x, y)}", {"x": ("f32", x, -1, 1), "y": ("f32", y, -1, 1)},
                    [("r", "Transpose", "x", {"perm": perm}), ("z", "MatMul", order)], {}, "z")
    for equation, *shapes in (("bhwc,hkc->bhwk", (2, 14, 14, 64), (14, 14, 64)), ("bhwc,wkc->bhwk", (2, 14, 14, 64), (14, 14, 64)),
                              ("ibh,hnd->ibnd", (50, 2, 128), (128, 4, 32)), ("ijkl,jl->ik", (8, 9, 10, 11), (9, 11)), ("ij->ji", (300, 500)),
                              ("bij,bjk,bkl->bil", (4, 20, 30), (4, 30, 40), (4, 40, 10)), ("...ij,...jk->...ik", (2, 3, 20, 30), (2, 3, 30, 40)),
                              ("bcxd,bcyd->bcxy", (2, 4, 50, 32), (2, 4, 60, 32)), ("bxc,kc->bxk", (2, 100, 64), (30, 64)), ("n,n->", (1000,), (1000,)),
                              ("i,j->ij", (300,), (400,)), ("bij,bij->b", (8, 30, 40), (8, 30, 40)), ("bchw,bkhw->bck", (2, 32, 14, 14), (2, 16, 14, 14)),
                              ("nkctv,kvw->nctw", (1, 3, 16, 30, 25), (3, 25, 25)), ("ii->i", (300, 300)), ("bhnd,bhne->bhde", (1, 8, 196, 32), (1, 8, 196, 32))):
        table.add(f"Einsum {equation}", "Einsum", [("f32", shape, -1, 1) for shape in shapes], equation=equation)


def attention(table):
    for b, q, k, h, d in ((1, 77, 77, 12, 64), (1, 196, 196, 3, 64), (2, 256, 77, 8, 40), (1, 1, 512, 16, 128), (1, 100, 850, 8, 32), (16, 49, 49, 3, 32),
                          (1, 50, 50, 2, 80), (1, 64, 64, 1, 256), (1, 31, 37, 5, 17)):
        operands = [("f32", (b, q, h * d), -1, 1)] + [("f32", (b, k, h * d), -1, 1)] * 2
        name = f"{b}x{q}x{k}x{h}x{d}"
        table.microsoft(f"MultiHeadAttention {name}", "MultiHeadAttention", operands, num_heads=h)
        table.microsoft(f"MultiHeadAttention added {name}", "MultiHeadAttention", operands, [None, None, weights(1, h, q, k)], num_heads=h)
        if q == k:
            table.microsoft(f"MultiHeadAttention causal {name}", "MultiHeadAttention", operands, num_heads=h, unidirectional=1)
    for b, s, h, d in ((1, 128, 8, 64), (1, 1, 32, 128), (2, 50, 4, 32), (1, 512, 12, 64)):
        tables = [np.cos(weights(600, d // 2)), np.sin(weights(600, d // 2))]
        places = np.tile(np.arange(s, dtype=np.int64), (b, 1))
        for interleaved in (0, 1):
            table.microsoft(f"RotaryEmbedding {b}x{s}x{h}x{d} interleaved {interleaved}", "RotaryEmbedding", [("f32", (b, s, h * d), -1, 1)],
                            [places, *tables], interleaved=interleaved, num_heads=h)
        table.microsoft(f"RotaryEmbedding heads {b}x{s}x{h}x{d}", "RotaryEmbedding", [("f32", (b, h, s, d), -1, 1)], [places, *tables])
    for m, k, n, bits, block in ((1, 1024, 4096, 4, 32), (1, 4096, 1024, 4, 128), (8, 512, 512, 4, 64), (64, 512, 512, 8, 32), (1, 256, 100, 8, 16)):
        data = RANDOM.integers(0, 255, (n, k // block, block * bits // 8)).astype(np.uint8)
        zeros = RANDOM.integers(0, 255, (n, (k // block * bits + 7) // 8)).astype(np.uint8)
        table.microsoft(f"MatMulNBits {bits} by {block} {m}x{k}x{n}", "MatMulNBits", [("f32", (m, k), -1, 1)], [data, np.abs(weights(n, k // block)), zeros],
                        K=k, N=n, bits=bits, block_size=block)


def cases(shape):
    table = Layers()
    quantized(table)
    recurrences(table)
    products(table)
    attention(table)
    return table
