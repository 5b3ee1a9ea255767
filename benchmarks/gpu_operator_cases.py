# SPDX-License-Identifier: Apache-2.0
"""The cases of gpu_operators.py: operators alone on a GPU, in shapes that networks have, and what PyTorch calls for them."""
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Case:
    name: str
    nodes: list  # (operator, inputs, outputs, attributes); inputs are a, b, c, ..., constants by name, outputs y, ...
    inputs: list  # (type, shape, low, high)
    theirs: object  # of the inputs as tensors; None: nothing of PyTorch's does that
    constants: dict = field(default_factory=dict)
    outputs: tuple = ("y",)
    opset: int = 21
    bytes: int = 0  # that have to move, where it is not all of inputs and outputs
    graph: bool = True  # whether PyTorch's calls can be captured


def longs(*values):
    return np.array(values, np.int64)


class Cases(list):
    def one(self, name, op, inputs, theirs, constants=None, outputs=("y",), opset=21, bytes=0, graph=True, **attributes):
        """One node that reads all inputs and then all constants; an input is (type, shape), in [-1, 1), or with bounds."""
        constants = {key: np.asarray(value) for key, value in (constants or {}).items()}
        names = [*"abcdefgh"[:len(inputs)], *("" if value.size == 0 and key.startswith("no") else key for key, value in constants.items())]
        full = [(kind, shape, *(bounds or ((-1, 1) if kind[0] in "fb" else (0, 2)))) for kind, shape, *bounds in inputs]
        self.append(Case(f"{op} {name}", [(op, names, list(outputs), attributes)], full, theirs,
                         {key: value for key, value in constants.items() if value.size or not key.startswith("no")}, outputs, opset, bytes, graph))

    def topk(self, kind, shape, k, axis=-1):
        self.one(f"{k} of {kind}{list(shape)} axis {axis}", "TopK", [(kind, shape, -1000, 1000)], lambda t, x: x.topk(k, axis),
                 {"k": longs(k)}, ("y", "z"), axis=axis)


def chosen(c):
    for k in (1, 10, 100, 1000):
        c.topk("f16", (32, 50000), k)
    for kind, shape, k in (("f32", (1, 1000000), 100), ("f32", (1, 10000000), 50), ("f32", (1, 8400), 300), ("f16", (1000, 100), 5), ("f16", (4096, 64), 8),
                           ("f32", (1, 100000), 100000), ("f16", (64, 4096), 4096), ("f32", (4, 200000), 2000), ("i64", (8, 10000), 10), ("i32", (8, 10000), 50)):
        c.topk(kind, shape, k)
    c.topk("f16", (8, 300, 1000), 10, 1)
    for shape, axis in (((1, 21, 512, 512), 1), ((32, 50000), 1), ((1, 128256), 1), ((8192, 64), 1)):
        c.one(f"f16{list(shape)} axis {axis}", "ArgMax", [("f16", shape)], lambda t, x, axis=axis: x.argmax(axis), axis=axis, keepdims=0)
    c.one("f32[1000000]", "NonZero", [("f32", (1000000,), -1, 1)], lambda t, x: t.nonzero(x), graph=False)
    c.one("b8[4096,4096]", "NonZero", [("b8", (4096, 4096))], lambda t, x: t.nonzero(x), graph=False)


def lines(c):
    for kind, shape, axis in (("f16", (1024, 1024), 1), ("f32", (1, 1000000), 1), ("f32", (32, 50000), 1), ("f16", (4096, 1024), 0), ("i64", (8, 8192), 1),
                              ("f32", (8, 512, 2048), 1)):
        c.one(f"{kind}{list(shape)} axis {axis}", "CumSum", [(kind, shape)], lambda t, x, axis=axis: x.cumsum(axis), {"axis": longs(axis)[0]})
    sums = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "amax", "ReduceProd": "prod", "ReduceL2": "norm", "ReduceLogSumExp": "logsumexp"}
    for op, kind, shape, axes in (("ReduceSum", "f16", (32, 50000), (1,)), ("ReduceMean", "f16", (65536, 128), (1,)), ("ReduceMax", "f32", (8192, 1024), (0,)),
                                  ("ReduceSum", "f16", (32, 256, 56, 56), (2, 3)), ("ReduceSum", "f32", (10000000,), (0,)), ("ReduceMax", "f16", (64, 512, 64), (1,)),
                                  ("ReduceL2", "f32", (4096, 512), (1,)), ("ReduceLogSumExp", "f32", (64, 32000), (1,)), ("ReduceSum", "i64", (4096, 512), (1,)),
                                  ("ReduceProd", "f32", (100000, 3), (1,)), ("ReduceMean", "f32", (8, 64, 128, 128), (0, 2, 3)), ("ReduceMax", "f16", (1, 1000000), (1,))):
        reduce = sums[op]
        c.one(f"{kind}{list(shape)} {list(axes)}", op, [(kind, shape)],
              lambda t, x, reduce=reduce, axes=axes: getattr(t, reduce)(x, dim=axes[0] if reduce == "prod" else axes), {"axes": longs(*axes)}, keepdims=0)
    for kind, shape, axis in (("f16", (32, 50000), 1), ("f16", (65536, 64), 1), ("f16", (1, 21, 512, 512), 1), ("f32", (96, 512, 512), 2), ("f32", (8, 1000000), 1)):
        c.one(f"{kind}{list(shape)} axis {axis}", "Softmax", [(kind, shape)], lambda t, x, axis=axis: x.softmax(axis), axis=axis)
    c.one("f16[8,32000]", "LogSoftmax", [("f16", (8, 32000))], lambda t, x: x.log_softmax(1), axis=1)
    for kind, shape in (("f16", (4096, 1024)), ("f32", (197, 768)), ("f16", (100000, 96)), ("f16", (8, 65536))):
        n = shape[-1]
        c.one(f"{kind}{list(shape)}", "LayerNormalization", [(kind, shape), (kind, (n,)), (kind, (n,))],
              lambda t, x, s, b, n=n: t.nn.functional.layer_norm(x, (n,), s, b), axis=-1)
    for kind, shape in (("f16", (8, 64, 128, 128)), ("f32", (1, 32, 512, 512)), ("f16", (16, 256, 1000))):
        n = shape[1]
        c.one(f"{kind}{list(shape)}", "InstanceNormalization", [(kind, shape), (kind, (n,)), (kind, (n,))],
              lambda t, x, s, b: t.nn.functional.instance_norm(x, weight=s, bias=b))
    for kind, shape in (("f16", (8, 256, 64, 64)), ("f16", (1, 512, 128, 128)), ("f32", (2, 320, 64, 64))):
        n = shape[1]
        c.one(f"{kind}{list(shape)}", "GroupNormalization", [(kind, shape), (kind, (n,)), (kind, (n,))],
              lambda t, x, s, b: t.nn.functional.group_norm(x, 32, s, b), num_groups=32)
    c.one("f16[8,96,55,55]", "LRN", [("f16", (8, 96, 55, 55))], lambda t, x: t.nn.functional.local_response_norm(x, 5), size=5)


def pictures(c):
    def pool(op, kind, shape, window, stride, pad, theirs):
        axes = len(shape) - 2
        more = {"count_include_pad": 1} if op == "AveragePool" else {}
        c.one(f"{kind}{list(shape)} {window} by {stride}", op, [(kind, shape)], theirs, kernel_shape=[window] * axes, strides=[stride] * axes, pads=[pad] * 2 * axes, **more)
    pool("MaxPool", "f16", (32, 64, 112, 112), 3, 2, 1, lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1))
    pool("AveragePool", "f16", (32, 64, 112, 112), 3, 2, 1, lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, 1))
    pool("MaxPool", "f16", (8, 512, 20, 20), 13, 1, 6, lambda t, x: t.nn.functional.max_pool2d(x, 13, 1, 6))
    pool("MaxPool", "f16", (4, 32, 16, 56, 56), 3, 2, 1, lambda t, x: t.nn.functional.max_pool3d(x, 3, 2, 1))
    pool("AveragePool", "f32", (2, 32, 32, 32, 32), 3, 1, 1, lambda t, x: t.nn.functional.avg_pool3d(x, 3, 1, 1))
    pool("MaxPool", "f32", (16, 128, 8192), 4, 4, 0, lambda t, x: t.nn.functional.max_pool1d(x, 4, 4))
    c.one("f16[32,2048,7,7]", "GlobalAveragePool", [("f16", (32, 2048, 7, 7))], lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 1))
    for mode, kind, shape, scale in (("cubic", "f32", (1, 3, 256, 256), 2), ("cubic", "f16", (8, 64, 64, 64), 2), ("linear", "f16", (8, 64, 64, 64), 2),
                                     ("nearest", "f16", (8, 64, 64, 64), 2), ("linear", "f16", (1, 16, 32, 32, 32), 2), ("linear", "f32", (1, 150, 128, 128), 4),
                                     ("linear", "f16", (4, 64, 4096), 2)):
        theirs = {"cubic": "bicubic", "nearest": "nearest", "linear": {5: "trilinear", 4: "bilinear", 3: "linear"}[len(shape)]}[mode]
        more = {"align_corners": False} if mode != "nearest" else {}
        c.one(f"{mode} {kind}{list(shape)} by {scale}", "Resize", [(kind, shape)],
              lambda t, x, s=scale, m=theirs, more=more: t.nn.functional.interpolate(x, scale_factor=s, mode=m, **more),
              {"no_roi": np.zeros(0, np.float32), "scales": np.array([1, 1] + [scale] * (len(shape) - 2), np.float32)}, mode=mode, cubic_coeff_a=-0.75,
              coordinate_transformation_mode="asymmetric" if mode == "nearest" else "half_pixel", nearest_mode="floor")

    def conv(name, kind, shape, weights, op="Conv", strides=1, pad=0, groups=1, dilation=1):
        axes = len(shape) - 2
        draw = np.random.default_rng(1).standard_normal(weights).astype(np.float32) / np.sqrt(np.prod(weights[1:]))
        constant = draw.astype(np.float16 if kind == "f16" else np.float32)
        function = ("conv_transpose" if op == "ConvTranspose" else "conv") + f"{axes}d"

        def theirs(t, x, kept={}):
            if not kept:  # nothing comes from the host while a graph is captured
                kept["w"] = t.tensor(constant, device="cuda")
            return getattr(t.nn.functional, function)(x, kept["w"], None, stride=strides, padding=pad, groups=groups, dilation=dilation)
        c.one(f"{name} {kind}{list(shape)} {list(weights)}", op, [(kind, shape)], theirs, {"w": constant}, group=groups, strides=[strides] * axes,
              pads=[pad] * 2 * axes, dilations=[dilation] * axes, kernel_shape=list(weights[2:]))
    for kind in ("f16", "f32"):
        conv("long filter", kind, (1, 256, 1024), (256, 1, 512), pad=511, groups=256)
        conv("depthwise", kind, (8, 512, 400), (512, 1, 31), pad=15, groups=512)
    conv("depthwise", "f16", (8, 192, 56, 56), (192, 1, 3, 3), pad=1, groups=192)
    conv("depthwise", "f16", (8, 96, 56, 56), (96, 1, 7, 7), pad=3, groups=96)
    conv("depthwise", "f16", (4, 64, 56, 56), (64, 1, 31, 31), pad=15, groups=64)
    conv("depthwise", "f32", (1, 32, 32, 64, 64), (32, 1, 3, 3, 3), pad=1, groups=32)
    conv("groups", "f16", (8, 256, 56, 56), (256, 8, 3, 3), pad=1, groups=32)
    conv("groups", "f32", (8, 256, 28, 28), (256, 16, 3, 3), pad=1, groups=16)
    conv("dilated", "f16", (1, 512, 64, 64), (256, 512, 3, 3), pad=12, dilation=12)
    conv("volume", "f16", (1, 32, 32, 64, 64), (64, 32, 3, 3, 3), pad=1)
    conv("line", "f16", (8, 256, 2000), (256, 256, 3), pad=1)
    conv("odd channels", "f16", (1, 67, 100, 100), (33, 67, 3, 3), pad=1)
    conv("depthwise", "f16", (8, 64, 32, 32), (64, 1, 4, 4), "ConvTranspose", 2, 1, 64)
    conv("groups", "f16", (8, 128, 32, 32), (128, 32, 4, 4), "ConvTranspose", 2, 1, 4)
    conv("2x2", "f16", (4, 256, 64, 64), (256, 128, 2, 2), "ConvTranspose", 2)
    conv("volume", "f16", (1, 64, 16, 16, 16), (64, 32, 2, 2, 2), "ConvTranspose", 2)
    conv("line", "f32", (4, 256, 500), (256, 128, 16), "ConvTranspose", 8, 4)
    c.one("f16[8,64,64,64]", "GridSample", [("f16", (8, 64, 64, 64)), ("f16", (8, 64, 64, 2))],
          lambda t, x, g: t.nn.functional.grid_sample(x, g, align_corners=False), mode="linear")
    for mode, theirs in (("reflect", "reflect"), ("edge", "replicate"), ("constant", "constant")):
        c.one(f"{mode} f16[8,64,128,128]", "Pad", [("f16", (8, 64, 128, 128))], lambda t, x, m=theirs: t.nn.functional.pad(x, (3, 3, 3, 3), m),
              {"pads": longs(0, 0, 3, 3, 0, 0, 3, 3)}, mode=mode)
    c.one("f16[8,256,64,64]", "DepthToSpace", [("f16", (8, 256, 64, 64))], lambda t, x: t.nn.functional.pixel_shuffle(x, 2), blocksize=2, mode="CRD")
    c.one("f16[8,64,128,128]", "SpaceToDepth", [("f16", (8, 64, 128, 128))], None, blocksize=2)


def moved(c):
    for kind, shape, order in (("f16", (8, 128, 56, 56), (0, 2, 3, 1)), ("f16", (8, 512, 12, 64), (0, 2, 1, 3)), ("f32", (4096, 4096), (1, 0)), ("f16", (4096, 4095), (1, 0)),
                               ("f16", (4, 16, 32, 16, 32), (0, 2, 4, 1, 3)), ("i64", (1000, 1000), (1, 0)), ("b8", (1024, 4, 1024), (2, 1, 0)), ("f16", (64, 3, 224, 224), (0, 2, 3, 1))):
        c.one(f"{kind}{list(shape)} {list(order)}", "Transpose", [(kind, shape)], lambda t, x, order=order: x.permute(order).contiguous(), perm=order)
    c.one("f16 2 x [8,64,56,56] axis 1", "Concat", [("f16", (8, 64, 56, 56))] * 2, lambda t, x, y: t.cat([x, y], 1), axis=1)
    c.one("f16 3 x [100000,33] axis 1", "Concat", [("f16", (100000, 33))] * 3, lambda t, *x: t.cat(x, 1), axis=1)
    c.one("f16[4096,4096] every second", "Slice", [("f16", (4096, 4096))], lambda t, x: x[:, ::2].contiguous(),
          {"starts": longs(0), "ends": longs(4096), "axes": longs(1), "steps": longs(2)}, bytes=3 * 4096 * 4096)
    c.one("f16[4096,4096] backwards", "Slice", [("f16", (4096, 4096))], lambda t, x: x.flip(1),
          {"starts": longs(-1), "ends": longs(-5000), "axes": longs(1), "steps": longs(-1)})
    c.one("f16[64,1,4096] 64 times", "Tile", [("f16", (64, 1, 4096))], lambda t, x: x.repeat(1, 64, 1), {"repeats": longs(1, 64, 1)})
    c.one("f32[1,1,1024] to [64,64,1024]", "Expand", [("f32", (1, 1, 1024))], lambda t, x: x.expand(64, 64, 1024).contiguous(), {"shape": longs(64, 64, 1024)})
    c.one("f32[64,512,512]", "Trilu", [("f32", (64, 512, 512))], lambda t, x: x.triu(), upper=1)
    c.one("f16[50000,768] i64[32,512]", "Gather", [("f16", (50000, 768)), ("i64", (32, 512), 0, 50000)], lambda t, x, i: x[i], bytes=2 * 2 * 32 * 512 * 768)
    c.one("f16[4096,1000] i64[500] axis 1", "Gather", [("f16", (4096, 1000)), ("i64", (500,), 0, 1000)], lambda t, x, i: x.index_select(1, i), axis=1)
    c.one("f32[4096,1024] axis 1", "GatherElements", [("f32", (4096, 1024)), ("i64", (4096, 1024), 0, 1024)], lambda t, x, i: x.gather(1, i), axis=1)
    c.one("f16[64,1000,256] i64[64,500,1]", "GatherND", [("f16", (64, 1000, 256)), ("i64", (64, 500, 1), 0, 1000)],
          lambda t, x, i: t.take_along_dim(x, i, 1), batch_dims=1, bytes=2 * 2 * 64 * 500 * 256)
    c.one("f32[10000,64] i64[5000,1]", "ScatterND", [("f32", (10000, 64)), ("i64", (5000, 1), 0, 10000), ("f32", (5000, 64))],
          lambda t, x, i, u: x.index_put((i[:, 0],), u))
    c.one("add f32[10000,64] i64[80000,64]", "ScatterElements", [("f32", (10000, 64)), ("i64", (80000, 64), 0, 10000), ("f32", (80000, 64))],
          lambda t, x, i, u: x.scatter_add(0, i, u), axis=0, reduction="add")
    c.one("f32[1000,1000] i64[1000,100] axis 1", "ScatterElements", [("f32", (1000, 1000)), ("i64", (1000, 100), 0, 1000), ("f32", (1000, 100))],
          lambda t, x, i, u: x.scatter(1, i, u), axis=1)
    c.one("max f32[1000000] i64[1000000]", "ScatterElements", [("f32", (1000000,)), ("i64", (1000000,), 0, 1000000), ("f32", (1000000,))],
          lambda t, x, i, u: x.scatter_reduce(0, i, u, "amax"), axis=0, reduction="max")
    c.one("f32[100,32,256]", "ReverseSequence", [("f32", (100, 32, 256)), ("i64", (32,), 1, 100)], None, time_axis=0, batch_axis=1)
    c.one("i64[8192] to 1000", "OneHot", [("i64", (8192,), 0, 1000)], lambda t, i: t.nn.functional.one_hot(i, 1000).float(),
          {"depth": longs(1000)[0], "values": np.array([0, 1], np.float32)}, graph=False)


def scalars(c):
    large = (8, 512, 4096)
    for op, theirs in (("Erf", "erf"), ("Sigmoid", "sigmoid"), ("Tanh", "tanh"), ("Exp", "exp"), ("Sin", "sin")):
        c.one("f16[8,512,4096]", op, [("f16", large)], lambda t, x, theirs=theirs: getattr(t, theirs)(x))
    c.one("f16[8,512,4096]", "Gelu", [("f16", large)], lambda t, x: t.nn.functional.gelu(x))
    c.one("f16[8,512,4096]", "Add", [("f16", large)] * 2, lambda t, x, y: x + y)
    c.one("f16[8,512,4096] [4096]", "Mul", [("f16", large), ("f16", (4096,))], lambda t, x, y: x * y)
    c.one("f16[8,64,128,128] [64,1,1]", "Mul", [("f16", (8, 64, 128, 128)), ("f16", (64, 1, 1))], lambda t, x, y: x * y)
    c.one("f16[2048,1] [1,2048]", "Add", [("f16", (2048, 1)), ("f16", (1, 2048))], lambda t, x, y: x + y)
    c.one("f32[4000000]", "Pow", [("f32", (4000000,), 0.5, 2)] * 2, lambda t, x, y: x.pow(y))
    c.one("i64[4000000]", "Mod", [("i64", (4000000,), 0, 1000), ("i64", (4000000,), 1, 10)], lambda t, x, y: x % y)
    c.one("i64[4000000]", "Equal", [("i64", (4000000,), 0, 9)] * 2, lambda t, x, y: x == y)
    c.one("f16[4000000]", "Where", [("b8", (4000000,)), ("f16", (4000000,)), ("f16", (4000000,))], lambda t, m, x, y: t.where(m, x, y))
    c.one("i64[4000000]", "Where", [("b8", (4000000,)), ("i64", (4000000,)), ("i64", (4000000,))], lambda t, m, x, y: t.where(m, x, y))
    c.one("f32[16000000] to f16", "Cast", [("f32", (16000000,))], lambda t, x: x.half(), to=10)
    c.one("i64[4000000] to f32", "Cast", [("i64", (4000000,))], lambda t, x: x.float(), to=1)
    scale = {"scale": np.float32(0.02), "zero": np.int8(0)}
    c.one("f32[8,64,128,128]", "QuantizeLinear", [("f32", (8, 64, 128, 128))], lambda t, x: t.clamp(t.round(x / 0.02), -128, 127).to(t.int8), scale)
    c.one("i8[8,64,128,128]", "DequantizeLinear", [("i8", (8, 64, 128, 128), -100, 100)], lambda t, x: x.float() * 0.02, scale)
    c.one("i8[4096,4096] axis 0", "DequantizeLinear", [("i8", (4096, 4096), -100, 100)], lambda t, x: x.float() * 0.02,
          {"scale": np.full(4096, 0.02, np.float32), "zero": np.zeros(4096, np.int8)}, axis=0)


def products(c):
    for equation, kind, left, right in (("bij,bjk->bik", "f16", (16, 256, 256), (16, 256, 256)), ("bhqd,bhkd->bhqk", "f16", (8, 12, 197, 64), (8, 12, 197, 64)),
                                        ("ij,ij->i", "f32", (10000, 512), (10000, 512)), ("bi,bj->bij", "f16", (64, 512), (64, 512)),
                                        ("bnd,md->bnm", "f32", (2, 100, 64), (200, 64)), ("bhwc,hkc->bhwk", "f16", (16, 28, 28, 64), (28, 28, 64)),
                                        ("ijkl,jm->imkl", "f16", (8, 64, 32, 32), (64, 128)), ("bqc,bchw->bqhw", "f16", (2, 100, 256), (2, 256, 64, 64))):
        c.one(f"{equation} {kind}", "Einsum", [(kind, left), (kind, right)], lambda t, x, y, e=equation: t.einsum(e, x, y), equation=equation)
    for kind, left, right in (("f16", (32, 1, 1024), (32, 1024, 1024)), ("f16", (1, 4096), (4096, 4096)), ("f16", (1000, 333), (333, 777)), ("f32", (512, 512), (512, 512)),
                              ("f16", (4096, 8, 8), (4096, 8, 8)), ("f32", (2000, 3, 3), (2000, 3, 64)), ("f16", (2048, 4096), (4096, 1)), ("f16", (8, 100000), (100000, 16)),
                              ("bf16", (300, 1024), (1024, 4096))):
        c.one(f"{kind}{list(left)} {list(right)}", "MatMul", [(kind, left), (kind, right)], lambda t, x, y: x @ y)
    for op, gates, steps, batch, inputs, width, both in (("LSTM", 4, 100, 8, 256, 512, False), ("GRU", 3, 100, 8, 256, 512, False), ("LSTM", 4, 50, 1, 128, 128, True),
                                                         ("LSTM", 4, 30, 64, 512, 1024, False)):
        directions = 2 if both else 1
        draw = np.random.default_rng(2)
        w, r, b = (draw.uniform(-0.05, 0.05, (directions, *s)).astype(np.float16) for s in ((gates * width, inputs), (gates * width, width), (2 * gates * width,)))

        def theirs(t, x, kept={}, op=op, inputs=inputs, width=width, both=both):
            if not kept:
                kept["layer"] = getattr(t.nn, op)(inputs, width, bidirectional=both).cuda().half()
            return kept["layer"](x)[1]  # other weights: the times alone are alike
        more = {"linear_before_reset": 1} if op == "GRU" else {}
        c.one(f"f16[{steps},{batch},{inputs}] {width}{' both ways' if both else ''}", op, [("f16", (steps, batch, inputs))], theirs,
              {"w": w, "r": r, "bias": b}, ("y", "z"), hidden_size=width, direction="bidirectional" if both else "forward", **more)


def cases():
    result = Cases()
    for add in (chosen, lines, pictures, moved, scalars, products):
        add(result)
    return result
