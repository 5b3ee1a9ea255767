#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX models of one or a few random nodes, beside ONNX Runtime; extents are open at random.

    LD_LIBRARY_PATH=build/release/lib PYTHONPATH=build/release/python python tests/onnx/random_nodes.py --first 1 --models 1000

Packages: numpy, onnx, onnxruntime. Makers of nodes are in the folder of the same name. A seed names a model for ever, as long as the
makers stay. What ONNX Runtime refuses is counted and left out; what we refuse is listed by operator. Ends with 1 where results differ
or a process dies. `--seed N` writes what one model is, and `--keep FILE` the model itself.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import subprocess
import sys
import tempfile
import warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "random_nodes")]
CHUNK = 40  # models of a process
WEIGHTED = ("Conv", "ConvTranspose")  # the extents of their second operand are known while a model is parsed


def attached(d, graph, name, array, rank):
    """Up to two more nodes of one float tensor, which the optimizer may put together with what is in front."""
    import numpy as np
    from onnx import helper
    for i in range(d.choice([0, 0, 1, 1, 2])):
        to = f"tail{i}"
        kind = d.choice(["Relu", "Sigmoid", "Mul", "Add", "Transpose", "ReduceSum", "Softmax", "Neg", "Tanh", "Clip", "Double", "Cast"])
        if kind in ("Mul", "Add"):
            graph.constant(f"{to}_by", d.choice([np.float32(0.5), d.floats([1] * rank)]))
            graph.nodes.append(helper.make_node(kind, d.choice([[name, f"{to}_by"], [f"{to}_by", name]]), [to]))
        elif kind == "Double":
            graph.nodes.append(helper.make_node("Add", [name, name], [to]))
        elif kind == "Transpose":
            graph.nodes.append(helper.make_node(kind, [name], [to], perm=d.sample(range(rank), rank)))
        elif kind == "Cast":
            graph.nodes.append(helper.make_node(kind, [name], [to], to=1))
        elif kind == "Clip":
            graph.constant(f"{to}_low", np.float32(-1)), graph.constant(f"{to}_high", np.float32(1.5))
            graph.nodes.append(helper.make_node(kind, [name, f"{to}_low", f"{to}_high"], [to]))
        elif kind == "ReduceSum":
            graph.constant(f"{to}_axes", np.array([d.axis(rank)], np.int64))
            graph.nodes.append(helper.make_node(kind, [name, f"{to}_axes"], [to], keepdims=1))
        elif kind == "Softmax":
            graph.nodes.append(helper.make_node(kind, [name], [to], axis=d.axis(rank)))
        else:
            graph.nodes.append(helper.make_node(kind, [name], [to]))
        name = to
    return name


class Graph:
    def __init__(self, node, d):
        import numpy as np
        from draw import Constant
        from onnx import helper
        self.nodes, self.initializers, self.inputs, self.feeds, self.symbols = [], [], [], {}, {}
        names, opens = [], d.chance(0.4) and not node.fixed
        for i, operand in enumerate(node.operands):
            names.append("" if operand is None else f"x{i}")
            if isinstance(operand, Constant):
                self.constant(names[-1], operand.array)
            elif operand is not None:
                self.feeds[names[-1]] = np.ascontiguousarray(operand) if operand.ndim else operand
                is_open = opens and (i == 0 or node.operator not in WEIGHTED)
                dims = [self.symbol(e) if is_open and d.chance(0.5) else e for e in operand.shape]
                self.inputs.append(helper.make_tensor_value_info(names[-1], helper.np_dtype_to_tensor_dtype(operand.dtype), dims))
        self.outputs = [f"y{i}" for i in range(node.outputs)]
        self.nodes.append(helper.make_node(node.operator, names, list(self.outputs), domain=node.domain, name="node", **node.attributes))

    def constant(self, name, array):
        import numpy as np
        from onnx import numpy_helper
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))

    def symbol(self, extent):
        return self.symbols.setdefault(extent, f"extent{extent}")


def model_of(seed, large=False, empty=False):
    """Of a seed: the maker's node, the model, its inputs, and how much results may differ."""
    import onnx
    import heavy
    import plain
    from draw import Draw
    from onnx import helper
    d = Draw(seed)
    d.times, d.empty = 8 if large else 1, empty
    node = d.choice(d.choice([plain, heavy]).MAKERS)(d)
    graph = Graph(node, d)

    def made(outputs):
        opsets = [helper.make_opsetid("", node.opset)] + ([helper.make_opsetid("com.microsoft", 1)] if node.domain else [])
        values = [onnx.ValueInfoProto(name=o) for o in outputs]
        body = helper.make_graph(graph.nodes, "random", graph.inputs, values, graph.initializers)
        return helper.make_model(body, opset_imports=opsets, ir_version=10)

    model = made(graph.outputs)
    wanted = reference(model, graph.feeds)
    if wanted[0].dtype.name == "float32" and wanted[0].ndim > 0:
        last = attached(d, graph, graph.outputs[0], wanted[0], wanted[0].ndim)
        if last != graph.outputs[0]:
            model = made([last, *graph.outputs[1:]])
            wanted = reference(model, graph.feeds)
    types = [helper.np_dtype_to_tensor_dtype(w.dtype) for w in wanted]
    for value, kind in zip(model.graph.output, types):
        value.type.tensor_type.elem_type = kind
    return node, model, graph, wanted, d


def reference(model, feeds):
    import numpy as np
    import onnx
    import onnxruntime
    # Names without types: the runtime infers them.
    inferred = onnx.shape_inference.infer_shapes(model)
    known = {v.name: v for v in inferred.graph.output}
    for value in model.graph.output:
        if value.name in known and known[value.name].type.HasField("tensor_type"):
            value.type.CopyFrom(known[value.name].type)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(result) for result in session.run(None, feeds)]


def ours(model, graph, level):
    """Results by an engine for a range of the open extents; where there is none, for these alone."""
    import tensorrt as trt

    def configure(config):
        config.builder_optimization_level = level

    def shapes(low, high):
        result = {}
        for value in model.graph.input:
            named = [dim.dim_param for dim in value.type.tensor_type.shape.dim]
            feed = graph.feeds[value.name].shape
            ends = [tuple(end(e) if p else e for p, e in zip(named, feed)) for end in (low, high)]
            if any(named):
                result[value.name] = (ends[0], feed, ends[1])
        return result or None

    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(model.SerializeToString())
        file.flush()
        try:
            runner = trt.Runner(file.name, shapes=shapes(lambda e: max(min(e, 1), e - e % 3), lambda e: 2 * e), configure=configure)
        except RuntimeError:
            if not graph.symbols:
                raise
            runner = trt.Runner(file.name, shapes=shapes(lambda e: e, lambda e: e), configure=configure)
    return runner(**graph.feeds)


def difference(got, want, tolerance):
    import numpy as np
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if got.dtype != want.dtype and not (got.dtype == np.uint8 and want.dtype == np.bool_):
        return f"type {got.dtype}, expected {want.dtype}"
    a, b = got.astype(np.float64), want.astype(np.float64)
    if not np.issubdtype(want.dtype, np.floating) and tolerance < 1:
        tolerance = 0
    with np.errstate(all="ignore"):
        bad = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * np.maximum(1, np.abs(b))))
    if not bad.any():
        return None
    at = tuple(int(i[0]) for i in np.nonzero(bad))
    return f"{int(bad.sum())} of {bad.size} differ, first at {at}: {a[at]}, expected {b[at]}"


def one(seed, options):
    warnings.simplefilter("ignore")
    print("peer", seed, flush=True)
    try:
        node, model, graph, wanted, d = model_of(seed, options.large, options.empty)
    except Exception as error:  # noqa: BLE001 - whatever the peer says
        return "unknown", f"{type(error).__name__} {error}".replace("\n", " ")[:300]
    print("own", seed, flush=True)
    label = f"{node.operator} {node.attributes} {[None if o is None else getattr(o, 'array', o).shape for o in node.operands]}"
    label += f" {[n.op_type for n in model.graph.node[1:]]}"
    if options.keep:
        pathlib.Path(options.keep).write_bytes(model.SerializeToString())
    try:
        results = ours(model, graph, d.choice([0, 0, 0, 1]) if options.level is None else options.level)
    except Exception as error:  # noqa: BLE001
        return "refused", f"{label}: {error}".replace("\n", " ")[:600]
    for value, want in zip(model.graph.output, wanted):
        wrong = difference(results[value.name], want, node.tolerance)
        if wrong:
            return "differs", f"{label}: {value.name}: {wrong}"
    return "right", label


def chunk(first, count, options):
    done = {}
    while len(done) < count:
        begin = first + len(done)
        command = [sys.executable, __file__, "--first", str(begin), "--models", str(first + count - begin), "--here"]
        command += ["--level", str(options.level)] if options.level is not None else []
        command += [flag for flag, wanted in (("--large", options.large), ("--empty", options.empty)) if wanted]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
        for line in ran.stdout.splitlines():
            if line.startswith("model "):
                _, seed, status, *text = line.split(" ", 3)
                done[int(seed)] = (status, text[0] if text else "")
        if ran.returncode != 0 and len(done) < count:
            status = "unknown" if ran.stdout.splitlines()[-1:] == [f"peer {first + len(done)}"] else "died"
            done[first + len(done)] = (status, f"status {ran.returncode}: {ran.stderr[-300:]}".replace("\n", " "))
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=1, help="seed of the first model")
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--level", type=int, help="of optimization; 0 or 1 by the seed where left out")
    parser.add_argument("--large", action="store_true", help="extents up to 257")
    parser.add_argument("--empty", action="store_true", help="extents of 0, too")
    parser.add_argument("--seed", type=int, help="this one alone, in this process")
    parser.add_argument("--keep", help="write the model there")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.seed is not None or options.here:
        seeds = [options.seed] if options.seed is not None else range(options.first, options.first + options.models)
        for seed in seeds:
            print("model", seed, *one(seed, options), flush=True)
        return 0
    counts, wrong = collections.Counter(), 0
    begins = range(options.first, options.first + options.models, CHUNK)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in pool.map(lambda b: chunk(b, min(CHUNK, options.first + options.models - b), options), begins):
            for seed, (status, text) in done.items():
                counts[status] += 1
                wrong += status in ("differs", "died")
                if status != "right":
                    print(status, seed, text, flush=True)
    print(dict(counts))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
