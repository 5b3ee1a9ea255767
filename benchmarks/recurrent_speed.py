#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU and RNN: Tenon's trtexec beside ONNX Runtime and OpenVINO on the CPU, or torch with cuDNN on a GPU, in turns.

    recurrent_speed.py [--gpu] [--threads N] [--rounds N] [--seconds S] [--trtexec FILE] [--only TEXT] [--states] [--json FILE]

Needs the Python packages numpy and onnx; onnxruntime and openvino where they are there, torch for --gpu. Times are the least of
all rounds, in microseconds, of the whole operator with its input products; TF32 is off. Ratios are the peer's time over
Tenon's. On a GPU torch is timed as programs call it and as a recorded CUDA graph, Tenon with --useCudaGraph; the largest
difference of the results is shown, over the largest value. With --states, on the CPU, the first states are inputs, as where
a program goes on step by step; without, they are zeros, which a single step need not multiply.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
# torch's gates in ONNX's order: i, o, f, c of i, f, g, o; z, r, h of r, z, n.
ORDER = {"LSTM": [0, 3, 1, 2], "GRU": [1, 0, 2], "RNN": [0]}
CPU_CASES = [(op, hidden, 1, steps, 1) for op in GATES for hidden in (64, 128, 256, 512) for steps in (1, 100)]
CPU_CASES += [("LSTM", 256, 8, 50, 2), ("GRU", 256, 8, 50, 2), ("LSTM", 128, 16, 100, 1), ("LSTM", 1024, 1, 20, 1)]
GPU_CASES = [("LSTM", 64, 1, 100, 1), ("LSTM", 128, 1, 100, 1), ("LSTM", 256, 1, 100, 1), ("LSTM", 256, 1, 100, 2),
             ("LSTM", 512, 1, 100, 1), ("LSTM", 1024, 1, 100, 1), ("LSTM", 256, 16, 100, 1), ("LSTM", 512, 16, 100, 1),
             ("LSTM", 1024, 16, 100, 1), ("LSTM", 128, 16, 100, 1), ("GRU", 64, 1, 100, 1), ("GRU", 128, 1, 100, 1), ("GRU", 256, 1, 100, 1),
             ("GRU", 512, 1, 100, 1), ("GRU", 1024, 1, 100, 1), ("GRU", 256, 16, 100, 1), ("GRU", 512, 16, 100, 1),
             ("RNN", 64, 1, 100, 1), ("RNN", 256, 1, 100, 1)]


def make(case, folder, states=False):
    """The model's path, its inputs by name, which lie in files beside it, and weights by ONNX's order of gates."""
    op, hidden, batch, steps, directions = case
    random = np.random.default_rng(1)
    gates = GATES[op]
    scale = 1 / np.sqrt(hidden)
    draw = lambda *shape: random.uniform(-scale, scale, shape).astype(np.float32)
    w, r, b = draw(directions, gates * hidden, hidden), draw(directions, gates * hidden, hidden), draw(directions, 2 * gates * hidden)
    inputs = {"x": random.standard_normal((steps, batch, hidden)).astype(np.float32)}
    for name in ["h", "c"][:2 if op == "LSTM" else 1] if states else []:
        inputs[name] = random.uniform(-1, 1, (directions, batch, hidden)).astype(np.float32)
    more = {"direction": "bidirectional"} if directions == 2 else {}
    if op == "GRU":
        more["linear_before_reset"] = 1
    node = helper.make_node(op, ["x", "w", "r", "b", "", *list(inputs)[1:]], ["y"], hidden_size=hidden, **more)
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph([node], "g", [value(n, v.shape) for n, v in inputs.items()], [value("y", (steps, directions, batch, hidden))],
                              [numpy_helper.from_array(a, n) for a, n in ((w, "w"), (r, "r"), (b, "b"))])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / ("_".join(map(str, case)) + ".onnx")
    onnx.save(model, path)
    for name, values in inputs.items():
        values.tofile(path.with_suffix(f".{name}"))
    return path, inputs, (w, r, b)


def tenon(args, path, inputs, y):
    """The least time in us and the results, or the end of what trtexec said."""
    out = path.with_suffix(".json")
    files = ",".join(f"{name}:{path.with_suffix('.' + name)}" for name in inputs)
    command = [args.trtexec, f"--onnx={path}", f"--duration={args.seconds}", "--warmUp=50", "--noDataTransfers", "--useSpinWait",
               f"--loadInputs={files}", f"--exportOutput={out}", "--noTF32"] + (["--useCudaGraph"] if args.gpu else [])
    said = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, TENON_THREADS=str(args.threads)))
    found = re.search(r"GPU Compute Time: min = ([0-9.]+)", said.stdout)
    if not found:
        raise RuntimeError((said.stdout + said.stderr)[-400:])
    y[:] = json.loads(out.read_text())[0]["values"]
    return float(found[1]) * 1e3


def least(run, seconds):
    end, best = time.perf_counter() + seconds, float("inf")
    while time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - begin)
    return best * 1e6


def cpu_peers(args, path, inputs):
    """Name to a function that runs the model, which returns its result."""
    peers = {}
    try:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = args.threads
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for name, values in inputs.items():
            binding.bind_cpu_input(name, values)
        binding.bind_output("y")
        peers["ONNX Runtime"] = (lambda: session.run_with_iobinding(binding), lambda: binding.copy_outputs_to_cpu()[0])
    except ImportError:
        pass
    try:
        import openvino
        core = openvino.Core()
        core.set_property("CPU", {"INFERENCE_NUM_THREADS": args.threads, "INFERENCE_PRECISION_HINT": "f32"})
        request = core.compile_model(str(path), "CPU").create_infer_request()
        for name, values in inputs.items():
            request.set_tensor(name, openvino.Tensor(values))
        peers["OpenVINO"] = (request.infer, lambda: request.get_output_tensor().data)
    except ImportError:
        pass
    return peers


def torch_peers(case, x, weights):
    import torch
    op, hidden, batch, steps, directions = case
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    module = getattr(torch.nn, op)(hidden, hidden, bidirectional=directions == 2)
    with torch.no_grad():
        for d, suffix in enumerate(["", "_reverse"][:directions]):
            split = lambda a: a.reshape(GATES[op], hidden, *a.shape[1:])
            for name, a in (("weight_ih", weights[0][d]), ("weight_hh", weights[1][d]), ("bias_ih", weights[2][d][:GATES[op] * hidden]),
                            ("bias_hh", weights[2][d][GATES[op] * hidden:])):
                back = np.empty_like(split(a))
                back[ORDER[op]] = split(a)
                getattr(module, f"{name}_l0{suffix}").copy_(torch.from_numpy(back.reshape(a.shape)))
    module = module.cuda().eval()
    given = torch.from_numpy(x).cuda()

    def timed(run, count=20):
        best = float("inf")
        for _ in range(10):
            begin, end = torch.cuda.Event(True), torch.cuda.Event(True)
            begin.record()
            for _ in range(count):
                run()
            end.record()
            end.synchronize()
            best = min(best, begin.elapsed_time(end) / count * 1e3)
        return best

    with torch.no_grad():
        y = module(given)[0].cpu().numpy()
        eager = timed(lambda: module(given))
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                module(given)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            module(given)
        return {"torch": eager, "torch, CUDA graph": timed(graph.replay)}, y


def measure(args, case, folder):
    path, inputs, weights = make(case, folder, args.states)
    y = np.empty(case[3] * case[4] * case[2] * case[1], np.float32)
    times, wanted = {"Tenon": float("inf")}, None
    if args.gpu:
        peers, wanted = torch_peers(case, inputs["x"], weights)
        times.update(peers)
        wanted = wanted.reshape(case[3], case[2], case[4], case[1]).transpose(0, 2, 1, 3)
        peers = {}
    else:
        peers = cpu_peers(args, path, inputs)
    for _ in range(args.rounds):
        times["Tenon"] = min(times["Tenon"], tenon(args, path, inputs, y))
        for name, (run, result) in peers.items():
            run()
            times[name] = min(times.get(name, float("inf")), least(run, args.seconds))
            wanted = np.array(result()) if wanted is None else wanted
    error = float(np.abs(y - wanted.ravel()).max() / np.abs(wanted).max()) if wanted is not None else float("nan")
    return times, error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", action="store_true", help="beside torch on the GPU")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.3, help="of one measurement")
    parser.add_argument("--trtexec", default=str(ROOT / "build/release/bin/trtexec"))
    parser.add_argument("--only", default="", help="a part of the rows' names")
    parser.add_argument("--states", action="store_true", help="first states are inputs")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no row begins")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    if args.gpu and args.states:
        parser.error("--states is for the CPU")
    rows, failed, end = {}, 0, time.monotonic() + args.limit
    with tempfile.TemporaryDirectory() as folder:
        for case in GPU_CASES if args.gpu else CPU_CASES:
            op, hidden, batch, steps, directions = case
            name = f"{op}{' both ways' if directions == 2 else ''}, {hidden} units, batch {batch}, {steps} steps"
            if args.only not in name or time.monotonic() > end:
                continue
            try:
                times, error = measure(args, case, pathlib.Path(folder))
            except Exception as problem:  # one row's fault
                print(f"{name}: FAILED: {str(problem)[-300:]}", flush=True)
                failed += 1
                continue
            rows[name] = {**times, "error": error}
            cells = [f"{times['Tenon']:.1f}"] + [f"{t:.1f} ({t / times['Tenon']:.2f})" for n, t in times.items() if n != "Tenon"]
            if len(rows) == 1:
                print("| | " + " | ".join(times) + " | difference |", flush=True)
            print(f"| {name} | {' | '.join(cells)} | {error:.0e} |", flush=True)
            failed += not error < 1e-3
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    for peer in {n for row in rows.values() for n in row} - {"Tenon", "error"}:
        ratios = [row[peer] / row["Tenon"] for row in rows.values() if peer in row]
        print(f"{peer}: geometric mean {np.exp(np.mean(np.log(ratios))):.2f}, least {min(ratios):.2f}")
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    raise SystemExit(main())
