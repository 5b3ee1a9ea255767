#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks with PyTorch's own answers beside them, small enough to send, and trtexec's answers on any device.

    python tests/onnx/beside_torch.py --pack FOLDER [NAME ...]                    # where torch, transformers ... are
    TENON_DEVICE=cuda python tests/onnx/beside_torch.py FOLDER [--jobs N] [NAME ...]   # needs numpy alone

--pack makes networks of exported_networks.py, and as kind_NAME those of benchmarks/kinds at small extents (--kinds: all of them), whose large weights have sixteen values, so that a compressor makes four bits of
each, exports them at one set of shapes with nothing folded, and stores what PyTorch computes for random inputs. The other call
builds an engine of each by trtexec without TF32 and compares: the largest difference over the largest value may be 2e-3. Where
values are chosen by comparing (suppression, top-k) most must agree: 99 of 100.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(1, str(ROOT / "benchmarks"))
MOST, CHOSEN_MOST = 2e-3, 0.01
KIND = "kind_"
CHOSEN = {"fasterrcnn", "maskrcnn", "retinanet", "operators", "mixtral", *(KIND + name for name in """yolo_attention rt_detr center_net informer point_groups
    dgcnn experts chosen_experts encodec session""".split())}
LARGE, LEVELS = 1024, 8  # elements; values on each side of 0
# Classifiers, a segmenter, detectors with suppression and by queries, text, decoders with caches, speech, vocoders.
DEFAULT = """resnet18 mobilenet_v3_small shufflenet_v2_x0_5 timm_ghostnet_100 timm_mobilevit_xxs lraspp fasterrcnn detr yolos
    bert roberta albert deberta llama llama_step qwen2 t5 bart marian whisper whisper_step wav2vec2 hubert clip segformer dinov2
    sam_encoder mixtral mamba tagger vocoder hifigan denoiser transformer2d stretched speaker operators""".split()


def coarsen(module):
    """Large weights on few levels, of the size that they had."""
    import torch
    with torch.no_grad():
        for weight in module.parameters():
            if weight.numel() >= LARGE and weight.dtype == torch.float32:
                step = weight.std() * 2.5 / LEVELS
                if step > 0:
                    weight.copy_((weight / step).round().clamp(-LEVELS, LEVELS - 1) * step)


def made(name):
    if name.startswith(KIND):
        from kinds.table import network
        return network(name.removeprefix(KIND), small=True)
    from exported_nets import networks
    return networks()[name][0]()


def export(name, folder):
    import torch
    torch.manual_seed(0)
    module, inputs = made(name)
    coarsen(module)
    path = folder / f"{name}.onnx"
    names = [f"in{i}" for i in range(len(inputs))]
    with torch.no_grad():
        results = module(*inputs)
        try:
            torch.onnx.export(module, inputs, str(path), dynamo=False, opset_version=17, input_names=names, do_constant_folding=False,
                              training=torch.onnx.TrainingMode.PRESERVE)
        except Exception:  # every exporter raises kinds of its own
            torch.onnx.export(module, inputs, str(path), dynamo=True, external_data=False, input_names=names, optimize=False)
    results = results if isinstance(results, (tuple, list)) else [results]
    import onnx
    read = {value.name for value in onnx.load(str(path)).graph.input}  # the exporter drops those that nothing reads
    np.savez_compressed(path.with_suffix(".npz"), **{n: x.numpy() for n, x in zip(names, inputs) if n in read},
                        **{f"out{i}": x.numpy() for i, x in enumerate(results)})


def values_of(path):
    """The outputs that trtexec wrote, in order."""
    return [np.array([float(v) for v in output["values"]], np.float64) for output in json.loads(path.read_text())]


def difference(name, got, wanted):
    """(whether it is good, a word about it)"""
    worst = 0.0
    if len(got) != len(wanted):
        return False, f"{len(got)} outputs, expected {len(wanted)}"
    for mine, theirs in zip(got, wanted):
        theirs = theirs.ravel().astype(np.float64)
        if mine.size != theirs.size:
            return False, f"{mine.size} values, expected {theirs.size}"
        if not theirs.size:
            continue
        apart = np.abs(mine - theirs) / max(1e-6, np.abs(theirs).max())
        apart[~np.isfinite(apart)] = np.inf
        if name in CHOSEN and (apart > MOST).mean() <= CHOSEN_MOST:
            apart = np.minimum(apart, MOST)
        worst = max(worst, float(apart.max()))
    return worst <= MOST, f"{worst:.1e}"


def compare(name, options):
    begin = time.monotonic()
    stored = np.load(options.folder / f"{name}.npz")
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        loads = []
        for key in stored.files:
            if key.startswith("in"):
                stored[key].tofile(work / key)
                loads.append(f"{key}:{work / key}")
        command = [options.trtexec, f"--onnx={options.folder / (name + '.onnx')}", "--noTF32", f"--builderOptimizationLevel={options.level}",
                   "--iterations=1", "--duration=0", "--warmUp=0", f"--loadInputs={','.join(loads)}", f"--exportOutput={work / 'out.json'}"]
        try:
            done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=options.each)
        except subprocess.TimeoutExpired:
            return name, False, f"more than {options.each} s"
        if done.returncode != 0:
            errors = [line for line in done.stdout.splitlines() if "[E]" in line]
            return name, False, " | ".join(errors)[:400] or f"ended with {done.returncode}"
        wanted = [stored[f"out{i}"] for i in range(sum(k.startswith("out") for k in stored.files))]
        good, word = difference(name, values_of(work / "out.json"), wanted)
        return name, good, f"{word} ({time.monotonic() - begin:.0f} s)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pack", action="store_true", help="write networks and answers into the folder")
    parser.add_argument("--kinds", action="store_true", help="with --pack: all of benchmarks/kinds")
    parser.add_argument("--jobs", type=int, default=1, help="networks at a time")
    parser.add_argument("--level", type=int, default=0, help="builder optimization level")
    parser.add_argument("--seconds", type=int, default=600, help="networks that have not begun by then are left out, which is an error")
    parser.add_argument("--each", type=int, default=120, help="seconds for one network")
    parser.add_argument("--trtexec", default=str(ROOT / "build/release/bin/trtexec"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.one:
        warnings.simplefilter("ignore")
        return export(options.one, options.folder)
    if options.pack:
        if options.kinds:
            from kinds.table import NETWORKS
            options.names += [KIND + name for name in NETWORKS]
        for name in options.names or DEFAULT:
            done = subprocess.run([sys.executable, __file__, str(options.folder), "--one", name], text=True, capture_output=True)
            size = sum(p.stat().st_size for p in options.folder.glob(f"{name}.*"))
            print(f"{name}: {size} bytes" if done.returncode == 0 else f"{name}: FAILED {done.stderr.strip()[-200:]}", flush=True)
        return 0
    names = options.names or sorted(p.stem for p in options.folder.glob("*.npz"))
    end, failed = time.monotonic() + options.seconds, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, good, word in pool.map(lambda n: compare(n, options) if time.monotonic() < end else (n, False, "no time"), names):
            print(f"{name}: {word}{'' if good else ' DIFFERS'}", flush=True)
            failed += [] if good else [name]
    print(f"{len(names) - len(failed)} of {len(names)} networks agree with PyTorch on {os.environ.get('TENON_DEVICE', 'the default device')}")
    return 1 if failed or not names else 0


if __name__ == "__main__":
    sys.exit(main())
