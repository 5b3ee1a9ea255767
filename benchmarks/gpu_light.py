#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suite of networks on an NVIDIA GPU by Tenon alone, from models without their weights, within a bounded time.

    gpu_light.py --pack DIR [MODEL ...]                     # anywhere: needs torch, torchvision, transformers and onnx
    gpu_light.py DIR [--trtexec [NAME=]FILE ...] [--beside NAME=VARIABLE=VALUE ...] [--flag=FLAG ...] [--warm JOBS]
                 [--load] [--errors] [--rounds N] [--seconds-in-all S] [--json FILE] [MODEL:BATCH ...]

--pack exports the networks of gpu_peers.py on the processor, the batch an open extent, and writes each without its weights
(tests/onnx/light_models.py): some tens of kilobytes. The other call draws the weights and sets the batch; it needs a GPU, onnx
and numpy. Each row is built and timed by every build of trtexec that is named, and by the first of them once more with each
variable of --beside; the engines of a row are timed in turns, --rounds times, and the least median counts. What is timed has
the GPU alone (gpu_turns.py). --flag is one more for building; --fp32 (no TF32), --tf32 and --bf16 take the place of --fp16. Columns:
"ms" and "over known", the fastest time of a peer in earlier runs (gpu_known_peers.json, FP16) over it; "build", seconds of the
build that counts; "cold", with --warm: all rows are built before, so many side by side, which fills the cache of
kernels, since compiling them is most of a build; "load", with --load: milliseconds from the plan to the first result
(load_engine beside the first trtexec) and MiB that the device has less then, inputs and outputs left out, and the multiple of
weights and arena; "error", with --errors: norm of the difference from ONNX Runtime's results in f32 on the processor over
their norm. Rows that the time does not reach are named. Engines of two builds are not compared unless both are given here.
"""
import argparse
import concurrent.futures
import gzip
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
KNOWN = HERE / "gpu_known_peers.json"
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/onnx")]
CHECKED_ELEMENTS = 16_000_000  # larger outputs take longer to write as text than they are worth
WARM_SHARE = 0.5  # of the time in all, after which no build begins that does not count
TRACED_BATCH = 2  # a batch of one is a constant to some exporters


def pack(options):
    """The networks as light models with an open batch."""
    import torch
    import onnx
    from gpu_peers import MODELS, Network
    from light_models import lighten
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.rows or MODELS:
        network = Network(name, TRACED_BATCH, options.folder)
        names = [f"input{k}" for k in range(len(network.inputs))]
        keywords = {"input_names": names, "output_names": ["output"]}
        file = options.folder / f"{name}.whole"
        with torch.no_grad():
            try:
                torch.onnx.export(network.model, network.inputs, str(file), dynamo=False, opset_version=17,
                                  dynamic_axes={key: {0: "n"} for key in [*names, "output"]}, **keywords)
            except Exception:  # what tracing cannot follow
                batch = torch.export.Dim("n", min=1, max=256)
                torch.onnx.export(network.model, network.inputs, str(file), dynamo=True, external_data=False, opset_version=18,
                                  dynamic_shapes=tuple({0: batch} for _ in names), **keywords)
        model = onnx.load(file)
        file.unlink()
        for value in model.graph.input:
            if not value.type.tensor_type.shape.dim[0].dim_param:
                raise SystemExit(f"{name}: the exporter fixed the batch of {value.name}")
        del model.graph.value_info[:]
        count = lighten(model)
        text = gzip.compress(model.SerializeToString(), 9, mtime=0)
        (options.folder / f"{name}.onnx.gz").write_bytes(text)
        print(f"{name}: {len(model.graph.node)} nodes, {count} tensors drawn, {len(text)} bytes", flush=True)


def fill(packed, batches, folder):
    """Writes the model with weights for each batch, and its inputs; returns the flag that names these."""
    import numpy as np
    import onnx
    from light_models import filled
    model = filled(onnx.load_from_string(gzip.decompress(packed.read_bytes())))
    name, flags = packed.name.removesuffix(".onnx.gz"), {}
    for batch in batches:
        random, files = np.random.default_rng(0), []
        for k, value in enumerate(model.graph.input):
            tensor = value.type.tensor_type
            tensor.shape.dim[0].dim_value = batch
            shape = [d.dim_value for d in tensor.shape.dim]
            if tensor.elem_type == onnx.TensorProto.FLOAT:
                data = random.standard_normal(shape, dtype=np.float32)
            else:  # words, and then which of them count: all
                data = random.integers(0, 30000, shape) if k == 0 else np.ones(shape, np.int64)
            file = folder / f"{name}_b{batch}.{value.name}"
            data.tofile(file)
            files.append(f"{value.name}:{file}")
        onnx.save(model, folder / f"{name}_b{batch}.onnx")
        flags[batch] = f"--loadInputs={','.join(files)}"
    return flags


class Failed(Exception):
    pass


class Variant:
    """A build of trtexec with variables of the environment."""

    def __init__(self, label, program, variables=()):
        self.label, self.program, self.environment = label, program, dict(variables)
        self.libraries = program.resolve().parent.parent / "lib"

    def run(self, log, timeout, program, *arguments):
        path = os.pathsep.join(filter(None, [str(self.libraries), os.environ.get("LD_LIBRARY_PATH")]))
        try:
            done = subprocess.run([str(program), *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=timeout, env={**os.environ, "LD_LIBRARY_PATH": path, **self.environment})
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{self.label}: longer than {timeout:.0f} s") from error
        log.write_text(done.stdout)
        if done.returncode != 0:
            lines = done.stdout.splitlines()
            errors = [line for line in lines if "[E]" in line or "[F]" in line] or lines[-1:]
            raise Failed(f"{self.label}: {' '.join(errors)[:300] or f'exit {done.returncode}'}")
        return done.stdout


class Row:
    def __init__(self, spec, options):
        self.spec, self.options = spec, options
        name, _, batch = spec.partition(":")
        self.name, self.batch = name, int(batch)
        self.stem = options.folder / f"{name}_b{batch}"
        self.inputs, self.cold, self.error = None, math.nan, math.nan
        self.results = {}

    def file(self, ending):
        return self.stem.with_name(f"{self.stem.name}.{ending}")

    def timeout(self):
        return max(1.0, min(self.options.timeout, self.options.end - time.monotonic()))

    def build(self, variant, ending):
        begin = time.monotonic()
        variant.run(self.file(f"{ending}.build"), self.timeout(), variant.program, f"--onnx={self.file('onnx')}", *self.options.types,
                    f"--saveEngine={self.file(ending)}", "--skipInference", *self.options.flag)
        return time.monotonic() - begin

    def warm(self, variant):
        try:
            self.cold = self.build(variant, "warm")
        except Failed:
            pass  # the build that counts will say so
        self.file("warm").unlink(missing_ok=True)

    def execute(self, variant, *more):
        times = self.file("times.json")
        variant.run(self.file(f"{variant.label}.run"), self.timeout(), variant.program, f"--loadEngine={self.file(variant.label)}",
                    self.inputs, f"--duration={self.options.seconds:.2f}", f"--exportTimes={times}", *more)
        return statistics.median(entry["computeMs"] for entry in json.loads(times.read_text()))

    def measure(self, variants):
        built = []
        for variant in variants:
            result = self.results.setdefault(variant.label, {})
            try:
                result["build"] = self.build(variant, variant.label)
                built.append(variant)
            except Failed as failed:
                result["reason"] = str(failed)
        for _ in range(self.options.rounds):
            for variant in built:
                result = self.results[variant.label]
                try:
                    result["ms"] = min(result.get("ms", math.inf), self.execute(variant))
                except Failed as failed:
                    result["reason"] = str(failed)
        for variant in built:
            try:
                if self.options.load:
                    self.load(variant)
                if self.options.errors:
                    self.compare(variant)
            except Failed as failed:
                self.results[variant.label]["reason"] = str(failed)
            self.file(variant.label).unlink()

    def load(self, variant):
        program = self.options.load_program
        text = variant.run(self.file("load"), self.timeout(), program, str(self.file(variant.label)))
        self.results[variant.label]["load"] = {key: float(value) for key, value in (line.split() for line in text.splitlines())}

    def compare(self, variant):
        import numpy as np
        wanted = reference(self)
        if wanted.size > CHECKED_ELEMENTS:
            return
        output = self.file("output.json")
        self.execute(variant, f"--exportOutput={output}")
        values = json.loads(output.read_text())[0]["values"]
        got = np.array([math.nan if value is None else float(value) for value in values])
        output.unlink()
        self.results[variant.label]["error"] = float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


def reference(row):
    """ONNX Runtime's results in f32."""
    import numpy as np
    import onnxruntime
    session = onnxruntime.InferenceSession(str(row.file("onnx")), providers=["CPUExecutionProvider"])
    feeds = {value.name: np.fromfile(row.file(value.name), np.float32 if "float" in value.type else np.int64).reshape(value.shape)
             for value in session.get_inputs()}
    return session.run(None, feeds)[0].astype(np.float64).ravel()


def table(rows, variants, known):
    print(f"{'model':20} {'batch':>5} {'build':12} {'ms':>8} {'known':>7} {'ratio':>6} {'build s':>8} {'cold s':>7} {'load ms':>8} "
          f"{'MiB':>7} {'of it':>6} {'error':>8}")
    for variant in variants:
        ratios = []
        for row in rows:
            result = row.results.get(variant.label, {})
            milliseconds, peer, load = result.get("ms", math.nan), known.get(row.spec, math.nan), result.get("load", {})
            ratio = peer / milliseconds
            ratios += [] if math.isnan(ratio) else [ratio]
            device = load.get("device_bytes", math.nan)
            print(f"{row.name:20} {row.batch:5} {variant.label:12} {milliseconds:8.3f} {peer:7.3f} {ratio:6.2f} "
                  f"{result.get('build', math.nan):8.1f} {row.cold:7.1f} {load.get('total_ms', math.nan):8.1f} {device / 2**20:7.0f} "
                  f"{device / max(1, load.get('weight_bytes', 0) + load.get('arena_bytes', 0)):6.3f} {result.get('error', math.nan):8.1e}"
                  + (f" {result['reason']}" if "reason" in result else ""), flush=True)
        if ratios and len(rows) > 1:
            print(f"{variant.label}: geometric mean of {len(ratios)}: {math.exp(statistics.fmean(map(math.log, ratios))):.3f}, "
                  f"least {min(ratios):.2f}, below 1.25: {sum(r < 1.25 for r in ratios)}", flush=True)


def measured(options, rows, variants):
    """Rows whose weights are drawn, each measured as long as there is time."""
    from gpu_turns import Turns
    batches = {}
    for row in rows:
        batches.setdefault(row.name, []).append(row.batch)
    turns = Turns(options.folder)
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as fillers, \
            concurrent.futures.ThreadPoolExecutor(max(1, options.warm)) as warmers:
        filling = {name: fillers.submit(fill, options.light / f"{name}.onnx.gz", wanted, options.folder)
                   for name, wanted in batches.items()}

        begin = time.monotonic()

        def prepare(row):
            row.inputs = filling[row.name].result()[row.batch]
            if options.warm and time.monotonic() < begin + WARM_SHARE * options.seconds_in_all:
                row.warm(variants[0])

        for _ in warmers.map(prepare, rows):
            pass
        print(f"weights drawn{' and builds side by side' if options.warm else ''}: {time.monotonic() - begin:.0f} s", flush=True)
        for row in rows:
            if time.monotonic() < options.end:
                with turns.alone():
                    row.measure(variants)
                shown = {label: {key: value for key, value in result.items() if key != "load"} for label, result in row.results.items()}
                print(f"{row.spec} after {time.monotonic() - begin:.0f} s: {json.dumps(shown)}", flush=True)
                if options.json:
                    options.json.write_text(json.dumps({r.spec: r.results for r in rows if r.results}, indent=1))
            row.file("onnx").unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("light", type=pathlib.Path, help="the folder of light models")
    parser.add_argument("rows", nargs="*", help="MODEL:BATCH, with --pack MODEL; all without any")
    parser.add_argument("--pack", action="store_true")
    parser.add_argument("--trtexec", action="append", default=[], metavar="[NAME=]FILE", help="its libraries are in ../lib")
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=VARIABLE=VALUE")
    kinds = parser.add_mutually_exclusive_group()
    for kind, flags in {"fp32": ["--noTF32"], "tf32": [], "bf16": ["--bf16"]}.items():
        kinds.add_argument(f"--{kind}", dest="types", action="store_const", const=flags)
    parser.add_argument("--flag", action="append", default=[], help="one more flag for building")
    parser.add_argument("--warm", type=int, default=0, metavar="JOBS")
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.4, help="measuring time of each round")
    parser.add_argument("--seconds-in-all", type=float, default=390)
    parser.add_argument("--timeout", type=float, default=120, help="seconds that one program may take")
    parser.add_argument("--jobs", type=int, default=8, help="models at a time whose weights are drawn")
    parser.add_argument("--json", type=pathlib.Path, help="written after each row")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_gpu_light"))
    options = parser.parse_intermixed_args()
    if options.pack:
        options.folder = options.light
        return pack(options)
    options.end = time.monotonic() + options.seconds_in_all
    options.types = ["--fp16"] if options.types is None else options.types
    options.folder.mkdir(parents=True, exist_ok=True)
    known = json.loads(KNOWN.read_text())
    unknown = [spec for spec in options.rows if spec not in known["order"]]
    if unknown:
        parser.error(f"no row of the suite: {', '.join(unknown)}; there are {', '.join(known['order'])}")
    programs = options.trtexec or [str(HERE.parent / "build/release/bin/trtexec")]
    named = [program.partition("=")[::2] if "=" in program else (f"build{k}" if k else "tenon", program)
             for k, program in enumerate(programs)]
    variants = [Variant(label, pathlib.Path(file)) for label, file in named]
    for text in options.beside:
        label, variable, value = text.split("=", 2)
        variants.append(Variant(label, variants[0].program, [(variable, value)]))
    options.load_program = variants[0].program.parent / "load_engine"
    rows = [Row(spec, options) for spec in options.rows or known["order"]]
    measured(options, rows, variants)
    table(rows, variants, known["fastest_ms"])
    missing = [row.spec for row in rows if any("ms" not in row.results.get(v.label, {}) for v in variants)]
    if missing:
        print(f"not measured: {', '.join(missing)}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
