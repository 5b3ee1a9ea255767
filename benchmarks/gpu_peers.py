#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenon's trtexec against PyTorch on an NVIDIA GPU: the same networks, weights and inputs, in one run.

    gpu_peers.py [--compile] [--fp32] [--jobs N] [--precision float16|bfloat16] [--trtexec FILE] [--folder DIR]
                 [--json FILE] [--seconds S] [--build-flag=FLAG ...] [--beside NAME=VALUE] [--profile]
                 [MODEL[:BATCH] ... | others]

Needs a GPU and the Python packages torch, torchvision, onnx and, for the language models, transformers. Each network
has random weights of a fixed seed; batch normalization has the statistics that PyTorch begins with, or where these let
the values fall below what halves hold, those of the inputs. PyTorch runs it in the half type, channels-last for
pictures, as a CUDA graph; with --compile also through torch.compile(mode="max-autotune"). Tenon builds an engine from
the ONNX file that PyTorch exports, with the same type allowed, and runs it from the same inputs. Times are the GPU's:
the median of many inferences, in milliseconds. With --jobs, so many networks are exported and compiled side by side;
Tenon's builds and every timing still have the GPU alone, PyTorch's tuning shares it with its own kind. "error" is the
norm of the difference of Tenon's output from PyTorch's in f32 without TF32, over the norm of the latter, and "theirs"
the same of PyTorch in the half type; --fp32 builds and checks an engine in f32 as well, without TF32, and times PyTorch's.
A ratio is PyTorch's best over Tenon. --beside builds and times each network once more with this environment variable: column "beside". --profile
leaves MODEL_bBATCH/MODEL_bBATCH.profile in the folder, the time of each layer, and adds "bound": the operations of the
network at --tflops, or the bytes of its weights in the half type at --tbs where that is longer, and 1.1 us for each
layer of the engine; and the fraction of it that Tenon reaches.
"""
import argparse
import concurrent.futures
import json
import math
import multiprocessing
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np
import torch
import torchvision

from gpu_turns import Turns

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFAULT = ["resnet50:1", "resnet50:32", "vit_b_16:1", "bert_base_128:1", "bert_base_128:32", "mobilenet_v3_large:1",
           "efficientnet_b0:1", "gpt2_256:1", "bert_large_384:1", "resnet50:128", "vit_b_16:32", "mobilenet_v3_large:128"]
OTHERS = ["convnext_tiny:1", "convnext_tiny:32", "swin_t:1", "swin_t:32", "densenet121:1", "densenet121:32",
          "regnet_y_3_2gf:1", "regnet_y_3_2gf:32", "efficientnet_v2_s:1", "efficientnet_v2_s:32",
          "deeplabv3_resnet50:1", "deeplabv3_resnet50:8"]
LAUNCH_MS = 0.0011  # of a kernel in a graph on an H200
CHECKED_ELEMENTS = 16_000_000  # larger outputs take longer to write as text than they are worth


class LanguageModel(torch.nn.Module):
    """One of transformers' models as a function from tensors to one tensor."""

    def __init__(self, model, result, **fixed):
        super().__init__()
        self.model, self.result, self.fixed = model, result, fixed

    def forward(self, ids, mask=None):
        masked = {} if mask is None else {"attention_mask": mask}
        return getattr(self.model(input_ids=ids, **masked, **self.fixed), self.result)


def bert(layers, hidden, heads):
    import transformers
    config = transformers.BertConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads,
                                     intermediate_size=4 * hidden, attn_implementation="sdpa")
    return LanguageModel(transformers.BertModel(config, add_pooling_layer=False), "last_hidden_state")


def gpt2():
    import transformers
    config = transformers.GPT2Config(use_cache=False, attn_implementation="sdpa")
    return LanguageModel(transformers.GPT2LMHeadModel(config), "logits", use_cache=False)


class Scores(torch.nn.Module):
    """The scores of each pixel, of a network that returns them among others."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pictures):
        return self.model(pictures)["out"]


def deeplabv3():
    return Scores(torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None))


def picture(batch, size=224):
    return (torch.randn(batch, 3, size, size),)


def sentence(length):
    return lambda batch: (torch.randint(0, 30000, (batch, length)), torch.ones(batch, length, dtype=torch.int64))


MODELS = {
    "resnet50": (torchvision.models.resnet50, picture),
    "mobilenet_v3_large": (torchvision.models.mobilenet_v3_large, picture),
    "efficientnet_b0": (torchvision.models.efficientnet_b0, picture),
    "vit_b_16": (torchvision.models.vit_b_16, picture),
    "bert_base_128": (lambda: bert(12, 768, 12), sentence(128)),
    "bert_large_384": (lambda: bert(24, 1024, 16), sentence(384)),
    "gpt2_256": (gpt2, lambda batch: (torch.randint(0, 50000, (batch, 256)),)),
    "convnext_tiny": (torchvision.models.convnext_tiny, picture),
    "swin_t": (torchvision.models.swin_t, picture),
    "densenet121": (torchvision.models.densenet121, picture),
    "regnet_y_3_2gf": (torchvision.models.regnet_y_3_2gf, picture),
    "efficientnet_v2_s": (torchvision.models.efficientnet_v2_s, picture),
    "deeplabv3_resnet50": (deeplabv3, lambda batch: picture(batch, 520)),
}
# With PyTorch's initial statistics the activations of these fall below what halves can hold.
SETTLED = {"mobilenet_v3_large", "efficientnet_b0", "efficientnet_v2_s"}


class Failed(Exception):
    pass


def median_ms(call, seconds):
    for _ in range(5):
        call()
    torch.cuda.synchronize()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 20:
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(10)]
        for start, stop in events:  # queued: all but the first find the GPU busy, so that the host's time does not count
            start.record()
            call()
            stop.record()
        torch.cuda.synchronize()
        times += [start.elapsed_time(stop) for start, stop in events[1:]]
    return statistics.median(times)


def as_graph(model, inputs):
    """A function that replays one inference; inputs and output stay where they are."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(*inputs)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(*inputs)
    return graph.replay


def exact(allowed):
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def settle(model, inputs):
    """Batch normalization with the statistics of these inputs."""
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.reset_running_stats()
            module.momentum = None  # the average over all forward passes, of which there is one
            module.train()
    model(*inputs)
    model.eval()


class Network:
    """Model and inputs; once exported, the ONNX file and the right answer."""

    def __init__(self, name, batch, folder):
        torch.manual_seed(0)
        make, inputs = MODELS[name]
        self.model, self.inputs = make().eval(), inputs(batch)
        with torch.no_grad():
            for parameter in self.model.parameters():
                if parameter.dim() > 1 and not parameter.any():  # a matrix of zeros hides what is before it
                    torch.nn.init.normal_(parameter, std=0.02)
            if name in SETTLED:
                settle(self.model, self.inputs)
        self.onnx = folder / f"{name}_b{batch}.onnx"
        self.folder = folder

    def export(self):
        names = [f"input{k}" for k in range(len(self.inputs))]
        keywords = {"input_names": names, "output_names": ["output"], "opset_version": 17}
        with torch.no_grad():
            exact(False)
            self.model.cuda()
            inputs = tuple(x.cuda() for x in self.inputs)  # large batches take the processor long
            try:
                torch.onnx.export(self.model, inputs, str(self.onnx), dynamo=False, **keywords)
            except Exception:  # what tracing cannot follow
                torch.onnx.export(self.model, inputs, str(self.onnx), dynamo=True, external_data=False, **keywords)
            self.answer = self.model(*inputs).float().cpu().numpy()
            exact(True)
        self.files = []
        for name, value in zip(names, self.inputs):
            file = self.folder / name
            value.numpy().tofile(file)
            self.files.append(f"{name}:{file}")

    def count(self):
        """Operations of one inference (2 for a multiplication and an addition) and elements of the weights."""
        from torch.utils.flop_counter import FlopCounterMode
        torch.backends.mha.set_fastpath_enabled(False)  # one operation, which the counter does not know
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            self.model(*(x.cuda() for x in self.inputs))
        torch.backends.mha.set_fastpath_enabled(True)
        return counter.get_total_flops(), sum(p.numel() for p in self.model.parameters())

    def error_of(self, values):
        wanted = self.answer.astype(np.float64).ravel()
        got = values.astype(np.float64).ravel()
        return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted)) if got.size == wanted.size else math.inf

    def as_measured(self, kind):
        """The model and its inputs as PyTorch runs them fastest."""
        inputs = [x.cuda().to(kind) if x.is_floating_point() else x.cuda() for x in self.inputs]
        model = self.model.cuda().to(kind)
        if inputs[0].dim() == 4:
            model = model.to(memory_format=torch.channels_last)
            inputs = [x.to(memory_format=torch.channels_last) for x in inputs]
        return model, inputs

    def eager(self, kind, options, turns):
        model, inputs = self.as_measured(kind)
        with torch.no_grad(), turns.alone():
            error = self.error_of(model(*inputs).float().cpu().numpy())
            return {"their_error": error, "eager": median_ms(as_graph(model, inputs), options.seconds)}

    def compiled(self, kind, options, turns):
        model, inputs = self.as_measured(kind)
        with torch.no_grad():
            begin = time.perf_counter()
            compiled = torch.compile(model, mode="max-autotune")
            compiled(*inputs)
            seconds = time.perf_counter() - begin
            with turns.alone():
                return {"compile": median_ms(lambda: compiled(*inputs), options.seconds), "compile_seconds": seconds}


def tenon(network, options, flags, profile=False, environment=()):
    """Builds and runs; the median time, seconds of the build and the error."""
    output, times, engine = (network.folder / name for name in ("output.json", "times.json", "engine"))
    common = [str(options.trtexec), f"--loadInputs={','.join(network.files)}", f"--duration={options.seconds:.2f}"]
    checked = network.answer.size <= CHECKED_ELEMENTS

    def run(*arguments):
        done = subprocess.run([*common, *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=options.timeout, env={**os.environ, **dict(environment)})
        (network.folder / "trtexec.log").write_text(done.stdout)
        if done.returncode != 0:
            lines = done.stdout.splitlines()
            errors = [line for line in lines if "[E]" in line or "[F]" in line] or lines[-1:]
            raise Failed(f"trtexec: {' '.join(errors)[:600] if errors else 'no message'}")

    try:
        begin = time.perf_counter()
        run(f"--onnx={network.onnx}", f"--saveEngine={engine}", "--skipInference", *flags, *options.build_flag)
        built = time.perf_counter() - begin
        (network.folder / "trtexec.log").rename(network.onnx.with_suffix(".build"))
        run(f"--loadEngine={engine}", f"--exportTimes={times}", *([f"--exportOutput={output}"] if checked else []))
    except subprocess.TimeoutExpired as error:
        raise Failed(f"trtexec: longer than {options.timeout} s") from error
    error = math.nan
    if checked:
        values = json.loads(output.read_text())[0]["values"]
        error = network.error_of(np.array([math.nan if value is None else float(value) for value in values]))
    if profile:
        run(f"--loadEngine={engine}", "--dumpProfile", "--separateProfileRun")
        profile = network.onnx.with_suffix(".profile")
        (network.folder / "trtexec.log").rename(profile)
        network.layers = len(re.findall(r"\[I\] +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +(?!Total)\S", profile.read_text()))
    return statistics.median(entry["computeMs"] for entry in json.loads(times.read_text())), built, error


def measure(spec, options):
    """A row of the table, in a process of its own."""
    warnings.filterwarnings("ignore")
    torch.backends.cudnn.benchmark = True
    name, _, batch = spec.partition(":")
    batch = int(batch or 1)
    row = {"model": name, "batch": batch}
    kind = getattr(torch, options.precision)
    turns = Turns(options.folder)
    turns.share_inductor()
    folder = options.folder / f"{name}_b{batch}"
    folder.mkdir(exist_ok=True)
    network = Network(name, batch, folder)
    network.export()
    try:
        flags = ["--fp16" if kind is torch.float16 else "--bf16"]
        with turns.alone():
            row["tenon"], row["build_seconds"], row["error"] = tenon(network, options, flags, options.profile)
            if options.beside:
                row["beside"], row["beside_seconds"], row["beside_error"] = tenon(network, options, flags,
                                                                                  environment=[options.beside])
        if options.profile:
            row["operations"], row["weights"] = network.count()
            row["layers"] = network.layers
            work = max(row["operations"] / options.tflops / 1e9, 2 * row["weights"] / options.tbs / 1e9)
            row["bound"] = work + LAUNCH_MS * network.layers
        if options.fp32:
            with turns.alone():
                row["tenon_fp32"], _, row["error_fp32"] = tenon(network, options, ["--noTF32"])
            exact(False)
            row["eager_fp32"] = network.eager(torch.float32, options, turns)["eager"]
            exact(True)
    except Failed as error:
        row["reason"] = str(error)
    row.update(network.eager(kind, options, turns))
    if options.compile:
        row.update(network.compiled(kind, options, turns))
    network.onnx.unlink(missing_ok=True)
    return row


def line(row):
    best = min(row["eager"], row.get("compile", math.inf))
    ratio = best / row["tenon"] if "tenon" in row else math.nan
    text = (f"{row['model']:20} {row['batch']:5} {row.get('tenon', math.nan):9.3f} {row['eager']:9.3f} "
            f"{row.get('compile', math.nan):9.3f} {ratio:6.2f} {row.get('build_seconds', math.nan):8.1f} "
            f"{row.get('error', math.nan):9.1e} {row['their_error']:9.1e}")
    if "beside" in row:
        text += f" {row['beside']:9.3f} {row['beside_seconds']:8.1f} {row['beside_error']:9.1e}"
    if "error_fp32" in row:
        text += f" {row['tenon_fp32']:9.3f} {row['eager_fp32']:9.3f} {row['error_fp32']:9.1e}"
    if "bound" in row:
        text += f" {row['operations'] / 1e9:9.1f} {row['layers']:6} {row['bound']:9.3f} {row['bound'] / row['tenon']:6.2f}"
    return text + (f"\n    {row['reason']}" if "reason" in row else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=DEFAULT,
                        help="; ".join(MODELS) + "; others: networks of other kinds than those without arguments")
    parser.add_argument("--compile", action="store_true", help="torch.compile too; takes minutes per network")
    parser.add_argument("--fp32", action="store_true", help="an engine without halves and TF32 too")
    parser.add_argument("--jobs", type=int, default=1, help="networks at a time; worth it with --compile")
    parser.add_argument("--precision", default="float16", choices=["float16", "bfloat16"])
    parser.add_argument("--trtexec", type=pathlib.Path, default=ROOT / "build/release/bin/trtexec")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_gpu_peers"))
    parser.add_argument("--seconds", type=float, default=1.0, help="measuring time per system")
    parser.add_argument("--timeout", type=float, default=240, help="seconds that one call of trtexec may take")
    parser.add_argument("--build-flag", action="append", default=[], help="one more flag for building")
    parser.add_argument("--beside", metavar="NAME=VALUE", type=lambda text: tuple(text.split("=", 1)),
                        help="an environment variable for one more engine of each network")
    parser.add_argument("--profile", action="store_true", help="write the time of each layer to the folder")
    parser.add_argument("--tflops", type=float, default=739, help="of half matrix products; the default was measured on an H200")
    parser.add_argument("--tbs", type=float, default=4.22, help="TB/s of copies; likewise")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.models = [spec for name in options.models for spec in (OTHERS if name == "others" else [name])]
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(max(1, 2 * (os.cpu_count() or 1) // max(1, options.jobs))))
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}, "
          f"cuDNN {torch.backends.cudnn.version()}, {options.precision}, times in ms")
    print(f"{'model':20} {'batch':>5} {'tenon':>9} {'eager':>9} {'compile':>9} {'ratio':>6} {'build s':>8} {'error':>9} {'theirs':>9}" +
          (f" {'beside':>9} {'build s':>8} {'error':>9}" if options.beside else "") +
          (f" {'fp32':>9} {'eager':>9} {'error':>9}" if options.fp32 else "") +
          (f" {'GFLOP':>9} {'layers':>6} {'bound':>9} {'of it':>6}" if options.profile else ""), flush=True)
    rows = []
    # A process for each network: what PyTorch keeps of one must not weigh on the next.
    with concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        running = {pool.submit(measure, spec, options): spec for spec in options.models}
        for done in concurrent.futures.as_completed(running):
            try:
                rows.append(done.result())
                print(line(rows[-1]), flush=True)
            except Exception as error:  # one network must not end the others
                print(f"{running[done]}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
    ratios = [min(r["eager"], r.get("compile", math.inf)) / r["tenon"] for r in rows if "tenon" in r]
    if ratios:
        print(f"geometric mean of {len(ratios)} ratios: {math.exp(statistics.fmean(map(math.log, ratios))):.3f}")
    return 0 if len(ratios) == len(options.models) else 1


if __name__ == "__main__":
    sys.exit(main())
