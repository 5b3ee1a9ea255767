#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must hold for a whole model however it is built and run, besides its answer.

    robust.py passes|threads|plans|memory|implementations MODEL static|dynamic TOLERANCE --trtexec PROGRAM [--models FOLDER]

passes   each pass of the optimizer left out in turn: the answer stays right
threads  1, 2 and 3 threads: every output the same to the bit
plans    the same plan, bit for bit, from several processes: without measurements (level 0) on any number of threads, and
         from one timing cache, whose entries are for one number of threads
memory   the arena is at most 5 % larger than the most bytes that live at once
implementations
         the kernels of oneDNN that ran in the process which built run in one that loads, by their names
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import check

PIPELINE = check.ROOT / "src/passes/pipeline.cpp"
LARGEST_ARENA = 1.05


class Model:
    def __init__(self, options, folder):
        self.program, self.folder, self.tolerance = options.trtexec, folder, options.tolerance
        if options.shapes:  # no answer is needed
            self.path, self.shapes = options.models / (options.model + ".onnx"), [f"--shapes={options.shapes}"]
            return
        self.path, self.inputs, self.outputs = check.load_model(options)
        files = []
        for k, (name, value) in enumerate(self.inputs.items()):
            (folder / f"input{k}").write_bytes(value.data)
            files.append(f"{check.quoted(name)}:{folder / f'input{k}'}")
        shapes = ",".join(f"{check.quoted(name)}:{'x'.join(map(str, value.shape))}" for name, value in self.inputs.items())
        self.shapes = [f"--shapes={shapes}"] if options.kind == "dynamic" else []
        self.files = f"--loadInputs={','.join(files)}"

    def trtexec(self, *flags, **variables):
        words = [str(word) for word in (self.program, *flags, *self.shapes)]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "TENON_DEVICE": "cpu", **variables})
        if done.returncode != 0:
            sys.exit(f"{variables} {' '.join(words)} ended with {done.returncode}\n{done.stdout[-3000:]}")
        return done.stdout

    def build(self, name, *flags, **variables):
        plan = self.folder / name
        return plan, self.trtexec(f"--onnx={self.path}", f"--saveEngine={plan}", "--skipInference", *flags, **variables)

    def answer(self, plan, **variables):
        """The exported outputs, as text with all their digits."""
        file = self.folder / "answer.json"
        self.trtexec(f"--loadEngine={plan}", self.files, f"--exportOutput={file}", "--iterations=1", "--duration=0", "--warmUp=0", **variables)
        return file.read_text()


def passes(model):
    wrong = 0
    names = sorted(set(re.findall(r'^    \{PASS\((\w+)\),', PIPELINE.read_text(), re.MULTILINE)))
    if len(names) < 15:
        sys.exit(f"{PIPELINE} no longer lists the passes as this test reads them: found {names}")
    for name in names:
        plan, _ = model.build("plan", "--builderOptimizationLevel=0", TENON_DISABLE=name)
        print(f"without {name}:")
        found = {tensor["name"]: [float(value) for value in tensor["values"]] for tensor in check.json.loads(model.answer(plan))}
        wrong += check.count_wrong(found, model.outputs, model.tolerance)
    if wrong:
        sys.exit(f"{wrong} outputs are wrong")


def threads(model):
    plan, _ = model.build("plan")
    answers = {count: model.answer(plan, TENON_THREADS=str(count)) for count in (1, 2, 3)}
    for count in 2, 3:
        if answers[count] != answers[1]:
            sys.exit(f"{count} threads give another answer than one")
    print("1, 2 and 3 threads give the same answer to the bit")


def plans(model):
    cache = model.folder / "cache"
    model.build("warm", f"--timingCacheFile={cache}", "--builderOptimizationLevel=1")
    for flags, counts in [(["--builderOptimizationLevel=0"], (None, None, 1, 2, 3)),
                          (["--builderOptimizationLevel=1", f"--timingCacheFile={cache}"], (None,) * 3)]:
        variables = [{} if count is None else {"TENON_THREADS": str(count)} for count in counts]
        made = [model.build(f"plan{k}", *flags, **chosen)[0].read_bytes() for k, chosen in enumerate(variables)]
        if any(other != made[0] for other in made):
            sys.exit(f"{' '.join(flags)}: builds give {len(set(made))} different plans")
        print(f"{' '.join(flags[:1])}: {len(made)} builds, one plan of {len(made[0])} bytes")


def memory(model):
    _, report = model.build("plan", "--builderOptimizationLevel=0", "--verbose")
    lines = re.findall(r"Total Activation Memory: (\d+) bytes \(\d+ without reuse; at least (\d+) live at once\)", report)
    if not lines:
        sys.exit("the build does not say what memory it needs")
    for arena, least in lines:
        ratio = int(arena) / max(int(least), 1)
        print(f"arena {arena} bytes, {least} live at once: {ratio:.3f}")
        if int(arena) > 0 and ratio > LARGEST_ARENA:
            sys.exit(f"the arena is larger than {LARGEST_ARENA} times what lives at once")


def implementations(model):
    running = re.compile(r"step '(.*)' of \S+ -> \S+ runs '([^']+)'(.*)")
    run = ("--iterations=1", "--duration=0", "--warmUp=0", "--verbose")
    plan = model.folder / "plan"
    built = running.findall(model.trtexec(f"--onnx={model.path}", f"--saveEngine={plan}", "--builderOptimizationLevel=1", *run))
    report = model.trtexec(f"--loadEngine={plan}", *run, DNNL_VERBOSE="1")
    loaded = running.findall(report)
    if built != loaded:
        sys.exit(f"built: {sorted(set(built) - set(loaded))}\nloaded: {sorted(set(loaded) - set(built))}")
    if others := [line for line in loaded if "in place of" in line[2]]:
        sys.exit(f"not what was measured: {others}")
    executed = re.findall(r"verbose,exec,cpu,(?!reorder)\w+,([^,]+),", report)
    if strangers := set(executed) - {name.removeprefix("gated ") for _, name, _ in loaded}:
        sys.exit(f"oneDNN ran what no step names: {strangers}")
    print(f"{len(loaded)} steps run {', '.join(sorted({name for _, name, _ in loaded})) or 'nothing of oneDNN'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    tests = {"passes": passes, "threads": threads, "plans": plans, "memory": memory, "implementations": implementations}
    parser.add_argument("test", choices=tests)
    check.add_arguments(parser)
    parser.add_argument("--trtexec", type=pathlib.Path, required=True)
    parser.add_argument("--shapes", help="for `implementations` of a model without a stored answer: those of trtexec")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests[options.test](Model(options, pathlib.Path(folder)))


if __name__ == "__main__":
    main()
