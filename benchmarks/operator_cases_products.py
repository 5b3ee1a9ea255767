# SPDX-License-Identifier: Apache-2.0
"""The cases of operator_speed.py --products: products, convolutions, recurrences and attention of sizes that the other
lists leave out, and those of ONNX Runtime's own operators."""
import numpy as np

from operator_models import RANDOM, Table, weights


def text(*shapes):
    return " ".join("x".join(map(str, shape)) for shape in shapes)


def signed(*shape):
    return RANDOM.integers(-8, 8, shape).astype(np.int8)


class Products(Table):
    def microsoft(self, name, op, inputs, constants=(), outputs=1, **attributes):
        self.add(name, op, inputs, constants, outputs, domain="com.microsoft", **attributes)


def products(table):
    for x, y in (((128, 7, 7), (128, 7, 7)), ((1000, 3, 3), (1000, 3, 3)), ((64, 16, 16), (64, 16, 16)), ((512, 1, 64), (512, 64, 1)),
                 ((1, 300), (300, 100000)), ((1, 100000), (100000, 16)), ((16, 50000), (50000, 2)), ((2000, 300), (300, 1)),
                 ((2000, 300), (300, 2)), ((7, 1000), (1000, 1000)), ((33, 129), (129, 257)), ((8, 12, 1, 64), (8, 12, 64, 77))):
        table.add(f"MatMul {text(x, y)}", "MatMul", [("f32", x, -1, 1), ("f32", y, -1, 1)])
        if len(y) == 2 and y[0] * y[1] < 4_000_000:
            table.add(f"MatMul with weights {text(x, y)}", "MatMul", [("f32", x, -1, 1)], [weights(*y)])
            table.add(f"Gemm with bias {text(x, y)}", "Gemm", [("f32", x, -1, 1)], [weights(*y), weights(y[1])])
            table.add(f"Gemm transB {text(x, y)}", "Gemm", [("f32", x, -1, 1), ("f32", y[::-1], -1, 1)], transB=1)
            table.add(f"Gemm transA {text(x, y)}", "Gemm", [("f32", x[::-1], -1, 1), ("f32", y, -1, 1)], transA=1)
            table.add(f"MatMulInteger {text(x, y)}", "MatMulInteger", [("u8", x)], [signed(*y)])
            table.add(f"MatMulInteger computed {text(x, y)}", "MatMulInteger", [("u8", x), ("u8", y)])
    for rows in (1, 4, 16, 64):
        table.add(f"Gemm of a perceptron {rows}x784x512", "Gemm", [("f32", (rows, 784))], [weights(512, 784), weights(512)], transB=1)
    for equation, *shapes in (("bhqd,bhkd->bhqk", (2, 4, 50, 32), (2, 4, 50, 32)), ("bqhd,bkhd->bhqk", (2, 50, 4, 32), (2, 50, 4, 32)),
                              ("bik,kj->bij", (4, 50, 64), (64, 48)), ("bi,bj->bij", (64, 50), (64, 60)), ("ij,ij->i", (500, 300), (500, 300)),
                              ("bnd,md->bnm", (4, 100, 64), (200, 64)), ("nct,ncp->ntp", (8, 64, 50), (8, 64, 40)),
                              ("abc,cd,bd->ab", (10, 20, 30), (30, 40), (20, 40))):
        table.add(f"Einsum {equation}", "Einsum", [("f32", shape, -1, 1) for shape in shapes], equation=equation)


def windows(table):
    def convolution(name, x, w, op="Conv", **attributes):
        table.add(f"{op} {name}", op, [("f32", x, -1, 1)], [weights(*w), weights(w[0] if op == "Conv" else w[1] * attributes.get("group", 1))],
                  **attributes)
    for groups in (2, 4, 32):
        convolution(f"3x3 64 channels {groups} groups", (1, 64, 28, 28), (64, 64 // groups, 3, 3), pads=[1] * 4, group=groups)
        convolution(f"1x1 64 channels {groups} groups", (1, 64, 28, 28), (64, 64 // groups, 1, 1), group=groups)
    for factor in (2, 4):
        convolution(f"depthwise times {factor}", (1, 32, 56, 56), (32 * factor, 1, 3, 3), pads=[1] * 4, group=32)
    for dilation in (2, 4):
        convolution(f"depthwise dilated {dilation}", (1, 64, 56, 56), (64, 1, 3, 3), pads=[dilation] * 4, dilations=[dilation] * 2, group=64)
        convolution(f"1d dilated {dilation}", (1, 64, 4000), (64, 64, 3), pads=[dilation] * 2, dilations=[dilation])
    for channels, taps in ((1, 400), (16, 7), (64, 3), (512, 1)):
        convolution(f"1d {channels} channels {taps} taps", (1, channels, 16000 // channels * 4), (64, channels, taps))
    convolution("1d stride 160", (1, 1, 16000), (64, 1, 400), strides=[160])
    convolution("1d depthwise 15", (1, 256, 400), (256, 1, 15), pads=[7, 7], group=256)
    convolution("1d depthwise 3 batch 8", (8, 128, 200), (128, 1, 3), pads=[1, 1], group=128)
    convolution("3d 3 to 16", (1, 3, 8, 56, 56), (16, 3, 3, 7, 7), strides=[1, 2, 2], pads=[1, 3, 3, 1, 3, 3])
    convolution("3d 32 to 32 of 3x1x1", (1, 32, 8, 28, 28), (32, 32, 3, 1, 1), pads=[1, 0, 0, 1, 0, 0])
    convolution("3x3 batch 16 7x7", (16, 64, 7, 7), (64, 64, 3, 3), pads=[1] * 4)
    convolution("5x5 13 to 29", (1, 13, 31, 33), (29, 13, 5, 5), pads=[2] * 4)
    convolution("1d 128 to 64 of 4 by 2", (1, 128, 200), (128, 64, 4), "ConvTranspose", strides=[2], pads=[1, 1])
    convolution("16 to 1 of 4 by 2", (1, 16, 56, 56), (16, 1, 4, 4), "ConvTranspose", strides=[2, 2], pads=[1] * 4)
    convolution("128 to 64 of 2 by 2", (1, 128, 28, 28), (128, 64, 2, 2), "ConvTranspose", strides=[2, 2])
    for name, x, w, form in (("1d", (1, 32, 500), (32, 32, 3), dict(pads=[1, 1])), ("7 channels", (1, 7, 31, 33), (11, 7, 3, 3), dict(pads=[1] * 4)),
                             ("groups 4", (1, 64, 28, 28), (64, 16, 3, 3), dict(pads=[1] * 4, group=4)),
                             ("1x1 batch 8", (8, 64, 14, 14), (128, 64, 1, 1), {}), ("3d", (1, 8, 8, 14, 14), (8, 8, 3, 3, 3), dict(pads=[1] * 6))):
        small = np.float32(0.02)
        table.add(f"QLinearConv {name}", "QLinearConv", [("u8", x)], [small, np.uint8(3), signed(*w), small, np.int8(0), np.float32(0.5), np.uint8(9)], **form)
        table.add(f"ConvInteger {name}", "ConvInteger", [("u8", x)], [signed(*w), np.uint8(3)], **form)


def recurrences(table):
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for steps, batch, width, units, ways in ((1, 1, 64, 128, 1), (1, 32, 64, 128, 1), (20, 1, 64, 128, 2), (20, 32, 64, 128, 1), (20, 32, 64, 128, 2)):
            constants = [weights(ways, gates * units, width), weights(ways, gates * units, units), weights(ways, 2 * gates * units)]
            extra = {"direction": "bidirectional"} if ways == 2 else {}
            table.add(f"{op} {steps} steps batch {batch} {ways} ways", op, [("f32", (steps, batch, width), -1, 1)], constants, outputs=2, hidden_size=units,
                      **extra)


def microsoft(table):
    for b, s, past, heads, d in ((1, 128, 0, 12, 64), (1, 1, 128, 12, 64), (4, 32, 0, 4, 32), (1, 16, 64, 8, 64)):
        hidden = heads * d
        operands = [("f32", (b, s, hidden), -1, 1)] * 3
        name = f"{b}x{s}+{past}x{heads}x{d}"
        table.microsoft(f"MultiHeadAttention {name}", "MultiHeadAttention", operands, num_heads=heads)
        table.microsoft(f"Attention of inputs {name}", "Attention", [("f32", (b, s, hidden), -1, 1)], [weights(hidden, 3 * hidden), weights(3 * hidden)],
                        num_heads=heads)
        groups = heads // 4
        grouped = [("f32", (b, s, hidden), -1, 1)] + [("f32", (b, s, groups * d), -1, 1)] * 2 + [("f32", (b, groups, past + s, d), -1, 1)] * 2
        table.microsoft(f"GroupQueryAttention {name}", "GroupQueryAttention", grouped,
                        [np.full((b,), past + s - 1, np.int32), np.int32(past + s)], outputs=3, num_heads=heads, kv_num_heads=groups)
    for m, k, n in ((1, 768, 768), (16, 768, 3072), (128, 256, 256), (97, 101, 103)):
        table.microsoft(f"FusedMatMul {m}x{k}x{n}", "FusedMatMul", [("f32", (m, k)), ("f32", (n, k))], transB=1, alpha=0.125)
        table.microsoft(f"DynamicQuantizeMatMul {m}x{k}x{n}", "DynamicQuantizeMatMul", [("f32", (m, k), -1, 1)], [signed(k, n), np.float32(0.02), np.int8(0)])
        table.microsoft(f"MatMulIntegerToFloat {m}x{k}x{n}", "MatMulIntegerToFloat", [("u8", (m, k))],
                        [signed(k, n), np.float32(0.02), np.float32(0.02), np.uint8(3)])
        if k % 32 == 0:
            for bits in (4, 8):
                data = RANDOM.integers(0, 255, (n, k // 32, 32 * bits // 8)).astype(np.uint8)
                table.microsoft(f"MatMulNBits {bits} {m}x{k}x{n}", "MatMulNBits", [("f32", (m, k), -1, 1)], [data, np.abs(weights(n, k // 32))],
                                K=k, N=n, bits=bits, block_size=32)


def cases(shape):
    table = Products()
    products(table)
    windows(table)
    recurrences(table)
    microsoft(table)
    return table
