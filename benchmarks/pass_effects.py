#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each pass of the optimizer is worth in time: models built with all passes and with one left out, in turns.

    pass_effects.py [--threads N] [--seconds S] [--rounds N] [--passes A,B] [--only TEXT,TEXT] [--trtexec FILE]
                    [--json FILE] [MODELS_FOLDER]

Each model (the foundation set: rows of the folder's INDEX.md that begin with F, and a few for passes that nothing
there needs; default folder: TENON_MODELS, or ../shared/models) is built once with a verbose log, which says how many
edits each pass made. A pass is then measured on the model in which its edits are the largest part of the graph: an
engine without it (TENON_DISABLE) and one with all of them, from one timing cache, run in turns. A time is that of the
fastest inference, because whatever else the machine does only adds to it; a ratio above 1 says that the pass helps.
Passes that edit none of the models are listed at the end. Nodes are those of the finished graph.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What dynamic extents become, by a word in the model's name; elsewhere 1.
SHAPES = {"textline_orientation": "x:1x3x48x192", "yunet_n_dynamic": "input:1x3x320x320",
          "mbnet025_dynamic": "input:1x3x320x320", "v3_text_det": "x:1x3x320x320",
          "bert_toy": "input_ids:1x64,token_type_ids:1x64,input_mask:1x64",
          "vad_fsmn": "speech:1x50x400"}

# Passes that nothing in the foundation set needs have something to do here.
MORE = ["rand_ort_bert_toy.onnx", "se_dtln_stage2_lstm_unrolled.onnx", "rl_mlagents_gridworld_cnn_argmax.onnx",
        "vad_fsmn_offline.onnx"]


class Failed(Exception):
    pass


def trtexec(options, *arguments, without=""):
    environment = {**os.environ, "TENON_THREADS": str(options.threads),
                   "TENON_DEVICE": "cpu", "TENON_DISABLE": without}
    done = subprocess.run([str(options.trtexec), *map(str, arguments)], env=environment, text=True, timeout=900,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        errors = [line for line in done.stdout.splitlines() if "[E]" in line]
        raise Failed(errors[0] if errors else f"trtexec ended with {done.returncode}")
    return done.stdout


def shapes_of(path):
    return [f"--shapes={shapes}" for word, shapes in SHAPES.items() if word in path.stem]


def edits_of(log):
    """Edits by pass, and the nodes before and after all of them."""
    edits, nodes = {}, []
    for name, count, left in re.findall(r"(?:pass \d+ \(|\b)(\w+)\)?: (\d+) edits, (\d+) nodes", log):
        edits[name] = edits.get(name, 0) + int(count)
        nodes.append(int(left))
    return edits, nodes[0] if nodes else 1, nodes[-1] if nodes else 0


def survey(options):
    """Of each pass, the model in which it edits the largest part: {pass: (part, path)}."""
    best = {}
    for path in options.paths:
        try:
            log = trtexec(options, f"--onnx={path}", "--skipInference", "--builderOptimizationLevel=0", "--verbose",
                          *shapes_of(path))
        except Failed as error:
            print(f"{path.stem}: {error}", file=sys.stderr)
            continue
        edits, nodes, _ = edits_of(log)
        for name, count in edits.items():
            best[name] = max(best.get(name, (0, path)), (count / nodes, path), key=lambda entry: entry[0])
    return best


def compare(options, name, path):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        nodes, least = {}, {"": float("inf"), name: float("inf")}
        for without in least:
            log = trtexec(options, f"--onnx={path}", f"--saveEngine={folder / ('engine' + without)}", "--skipInference",
                          "--verbose", f"--timingCacheFile={folder / 'cache'}", *shapes_of(path), without=without)
            nodes[without] = edits_of(log)[2]
        for _ in range(options.rounds):
            for without in least:
                trtexec(options, f"--loadEngine={folder / ('engine' + without)}", f"--duration={options.seconds}",
                        f"--exportTimes={folder / 'times'}", *shapes_of(path))
                times = [entry["computeMs"] for entry in json.loads((folder / "times").read_text())]
                least[without] = min(least[without], *times)
    return {"pass": name, "model": path.stem, "nodes_without": nodes[name], "nodes": nodes[""],
            "ms_without": least[name], "ms": least[""]}


def names_of_passes():
    text = "".join((ROOT / "src/passes" / name).read_text() for name in ("pipeline.cpp", "composites.cpp"))
    return list(dict.fromkeys(re.findall(r'^    \{PASS\((\w+)\),', text, re.MULTILINE)))


def find_models(folder, only):
    rows = [line for line in (folder / "INDEX.md").read_text().splitlines() if line.startswith("| F |")]
    names = [row.split("|")[2].strip().split(" ")[0] for row in rows]
    found = [path for name in names for path in sorted(folder.glob(name)) if path.suffix == ".onnx"]
    found += [path for name in MORE for path in sorted(folder.rglob(name))]
    return [path for path in found if any(text in path.stem for text in only.split(","))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("TENON_MODELS", ROOT.parent / "shared/models")))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4, help="of one run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--passes", default="", help="only these")
    parser.add_argument("--only", default="", help="models whose name contains one of these")
    parser.add_argument("--trtexec", type=pathlib.Path, default=ROOT / "build/release/bin/trtexec")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    options = parser.parse_args()
    options.paths = find_models(options.models, options.only)
    best, rows = survey(options), []
    print("| pass | model | nodes without | with | ms without | with | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in names_of_passes():
        if name not in best or (options.passes and name not in options.passes.split(",")):
            continue
        try:
            row = compare(options, name, best[name][1])
        except Failed as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        rows.append(row)
        print(f"| `{name}` | {row['model']} | {row['nodes_without'] or '-'} | {row['nodes']} | "
              f"{row['ms_without']:.3f} | {row['ms']:.3f} | {row['ms_without'] / row['ms']:.2f} |", flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    idle = [name for name in names_of_passes() if name not in best]
    print("edits none of these models: " + (", ".join(idle) or "no pass"))


if __name__ == "__main__":
    main()
