#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Captures programs and replays them: the engines must be the programs' own, byte by byte, and failures the same."""
import argparse
import json
import os
import re
import shutil
import sys

import support
from support import Failed, Setup, captured, expect, lines_of, play, run, same_files


def scene(setup, name, engines, code=0, replay_code=0, **variables):
    """Captures a scene of the program and compares each engine with its replay."""
    done = captured(setup, [setup.program("capture_program"), name, setup.path("engine")], name, **variables)
    expect(done.returncode == code, f"the program ended with {done.returncode}: {done.stdout[-2000:]}")
    played = play(setup, name, "-o", setup.path("replayed"))
    expect(played.returncode == replay_code, f"the player ended with {played.returncode}: {played.stdout[-2000:]}")
    expect("not the application's bytes" not in played.stdout, played.stdout[-2000:])
    found = 0
    for suffix in [""] + [str(i) for i in range(100)]:
        if os.path.exists(setup.path("engine" + suffix)) and os.path.exists(setup.path("replayed" + suffix)):
            expect(same_files(setup.path("engine" + suffix), setup.path("replayed" + suffix)), f"engine{suffix} differs")
            found += 1
    expect(found >= engines, f"{found} of {engines} engines replayed: {played.stdout[-2000:]}")
    return played.stdout


def layers(setup):
    # Builds fail for layers that the library refuses: the player must meet the same failures and go on.
    output = scene(setup, "layers", 21, replay_code=replay_code_of_layers(setup))
    calls = lines_of(setup.path("layers.json"))
    made = {c["new"] for c in calls if "new" in c}
    expect(len(made) > 35, f"only {sorted(made)} were captured")
    expect("differ from" not in output, output[-2000:])


def replay_code_of_layers(setup):
    del setup
    return 3


def interleaved(setup):
    scene(setup, "interleaved", 3)
    listed = play(setup, "interleaved", "--list").stdout
    expect(listed.count("\nnetwork ") == 3 and "build 0 of network 2" in listed, listed)
    one = play(setup, "interleaved", "--network", "1", "-o", setup.path("only"))
    expect(one.returncode == 0 and same_files(setup.path("engine1"), setup.path("only")), one.stdout)


def threads(setup):
    # The order of the builds is that of the run: engines are told apart by content.
    done = captured(setup, [setup.program("capture_program"), "threads", setup.path("engine")], "threads")
    expect(done.returncode == 0, done.stdout[-2000:])
    played = play(setup, "threads", "-o", setup.path("replayed"))
    expect(played.returncode == 0, played.stdout[-2000:])
    def contents(stem):
        return sorted(open(setup.path(stem + str(i)), "rb").read() for i in range(4))
    expect(contents("engine") == contents("replayed"), "the four engines are not the same four")


def failure(setup):
    output = scene(setup, "failure", 0, replay_code=3)
    expect(re.search(r"build 0 \(line \d+\) fails as it did in the application: .*\w", output), output)


def users(setup):
    output = scene(setup, "users", 1, replay_code=play_code_of_users(setup))
    expect("fails, but not" not in output, output)


def play_code_of_users(setup):
    del setup
    return 3


def profiles(setup):
    scene(setup, "profiles", 1)


def streams(setup):
    output = scene(setup, "streams", 1, replay_code=0)
    expect("the application's engine" in output, output)


def plugins(setup):
    library = os.path.join(setup.libraries, "libcapture_plugins.so")
    command = [setup.program("capture_program"), "plugins", setup.path("engine")]
    done = captured(setup, command, "plugins", TENON_CAPTURE_PLUGINS=library)
    expect(done.returncode == 0 and "TimesThree 'second' by 2.5" in done.stdout, done.stdout[-2000:])
    rows = [c for c in lines_of(setup.path("plugins.json")) if "plugin" in c]
    expect([(r["type"], r["version"], "fields" in r) for r in rows] ==
           [("TimesTwo", "2", True), ("TimesThree", "3", True), ("TimesTwo", "2", False)], str(rows))
    missing = play(setup, "plugins", "-o", setup.path("replayed"))
    expect(missing.returncode == 1 and "plugin 'TimesTwo', version '2', namespace ''" in missing.stdout, missing.stdout)
    for played in (play(setup, "plugins", "-o", setup.path("replayed"), "--plugins", library),
                   play(setup, "plugins", "-o", setup.path("replayed"), LD_PRELOAD=library)):
        expect(played.returncode == (0 if os.path.exists(setup.path("engine")) else 3), played.stdout[-2000:])
        for made in ("TimesTwo 'first' by 2.5", "TimesThree 'second' by 2.5", "from bytes, by 7.5"):
            expect(made in played.stdout, f"{made}: {played.stdout[-2000:]}")
        expect("differ from" not in played.stdout and "not the application's bytes" not in played.stdout, played.stdout[-2000:])


def options(setup):
    """--verify tells agreeing engines from others; --emit-cpp gives a program that makes the same engines."""
    scene(setup, "interleaved", 3)
    same = play(setup, "interleaved", "--network", "1", "-o", setup.path("one"), "--verify", "--engine", setup.path("engine1"))
    expect(same.returncode == 0 and "1 outputs agree" in same.stdout, same.stdout)
    done = captured(setup, [setup.program("capture_program"), "interleaved", setup.path("other")], "random",
                    TRT_SHIM_MARK_AS_RANDOM_WEIGHTS_GREATER_EQUAL_THAN="60")
    expect(done.returncode == 0, done.stdout)
    other = play(setup, "random", "--network", "1", "-o", setup.path("one"), "--verify", "--engine", setup.path("engine1"))
    expect(other.returncode == 2 and "tensor '" in other.stdout, other.stdout)
    emitted = play(setup, "interleaved", "--emit-cpp", setup.path("program.cpp"))
    expect(emitted.returncode == 0, emitted.stdout)
    compiler = os.environ.get("CXX") or shutil.which("c++")
    built = run([compiler, "-std=c++17", "-O0", "-w", "-I" + os.path.join(setup.source, "include"),
                 "-I" + os.path.join(setup.source, "hostcuda", "include", "cudart"), setup.path("program.cpp"), "-o",
                 setup.path("program"), "-L" + setup.libraries, "-lnvinfer", "-Wl,-rpath," + setup.libraries])
    expect(built.returncode == 0, built.stdout[-3000:])
    ran = run([setup.path("program"), setup.path("interleaved.bin"), setup.path("emitted")], {"TENON_DEVICE": "cpu"})
    expect(ran.returncode == 0, ran.stdout[-2000:])
    for number in range(3):
        expect(same_files(setup.path(f"emitted{number}"), setup.path(f"engine{number}")), f"emitted engine {number} differs")


def killed(setup):
    scene(setup, "killed", 1, code=-9, TRT_SHIM_FLUSH_ON_BUILD="1")


def trtexec(setup):
    """The shim stands in the place of the library's file."""
    folder = setup.path("drop_in")
    os.makedirs(folder)
    shutil.copy(setup.shim, os.path.join(folder, "libnvinfer.so.10"))
    model = os.path.join(setup.source, "models", "digits", "digits.onnx")
    command = [setup.program("trtexec"), "--onnx=" + model, "--builderOptimizationLevel=0", "--skipInference"]
    environment = {"LD_LIBRARY_PATH": folder, "TRT_SHIM_NVINFER_LIB_NAME": setup.library, "TENON_DEVICE": "cpu",
                   "TRT_SHIM_OUTPUT_JSON_FILE": setup.path("digits.json"), "TRT_SHIM_PRINT_WELCOME": "1"}
    done = run(command + ["--saveEngine=" + setup.path("engine")], environment)
    expect(done.returncode == 0 and "[tensorrt_shim] recording" in done.stdout, done.stdout[-2000:])
    plain = run(command + ["--saveEngine=" + setup.path("plain")], {"TENON_DEVICE": "cpu"})
    expect(plain.returncode == 0 and same_files(setup.path("engine"), setup.path("plain")), "the shim changes the engine")
    played = play(setup, "digits", "-o", setup.path("replayed"))
    expect(played.returncode == 0 and same_files(setup.path("engine"), setup.path("replayed")), played.stdout[-2000:])


def python(setup):
    """A program of NVIDIA's compiled Python module."""
    sys.path.insert(0, os.path.join(setup.source, "tests", "compat"))
    from run import module_environment  # pylint: disable=import-error,import-outside-toplevel
    interpreter, reason = module_environment(os.path.join(setup.build, "tests", "compat"))
    if interpreter is None:
        print(f"skipped: {reason}")
        return support.SKIPPED
    command = [str(interpreter), "-B", os.path.join(setup.source, "tests", "capture", "python_scene.py"),
               os.path.join(setup.source, "models", "digits", "digits.onnx"), setup.path("engine")]
    done = captured(setup, command, "python", LD_LIBRARY_PATH=setup.libraries)
    expect(done.returncode == 0, done.stdout[-2000:])
    played = play(setup, "python", "-o", setup.path("replayed"))
    expect(played.returncode == 0 and "differ from" not in played.stdout, played.stdout[-2000:])
    for number in range(2):
        expect(same_files(setup.path(f"engine{number}"), setup.path(f"replayed{number}")), f"engine {number} differs")
    return 0


def environment(setup):
    """Each variable does what it says, and wrong values are named."""
    command = [setup.program("capture_program"), "interleaved", setup.path("engine")]
    done = captured(setup, command, "all", TRT_SHIM_FLUSH_AFTER_EVERY_CALL="1", TRT_SHIM_DUMP_API="1",
                    TRT_SHIM_INLINE_WEIGHTS_LOWER_EQUAL_THAN="64")
    expect(done.returncode == 0 and "[tensorrt_shim] {\"o\":" in done.stdout, done.stdout[-1000:])
    expect(all("inline" in c for c in lines_of(setup.path("all.json")) if "weights" in c), "weights of 64 are not inline")
    expect(play(setup, "all", "-o", setup.path("all")).returncode == 0, "inline weights do not replay")
    done = captured(setup, command, "random", TRT_SHIM_MARK_AS_RANDOM_WEIGHTS_GREATER_EQUAL_THAN="60")
    calls = lines_of(setup.path("random.json"))
    expect(done.returncode == 0 and all(c.get("random") for c in calls if "weights" in c), "weights are not marked")
    for seed, stem in (("3", "one"), ("3", "same"), ("4", "other")):
        played = play(setup, "random", "--random-weights", seed, "-o", setup.path(stem))
        expect(played.returncode == 0, played.stdout)
    expect(same_files(setup.path("one0"), setup.path("same0")), "the same seed gives other weights")
    expect(not same_files(setup.path("one0"), setup.path("other0")), "the seed changes nothing")
    done = captured(setup, command, "p%p-n%n", TRT_SHIM_FLUSH_ON_BUILD="1", TRT_SHIM_FLUSH_ON_DESTROY="yes",
                    TRT_SHIM_INLINE_WEIGHTS_LOWER_EQUAL_THAN="many")
    expect("TRT_SHIM_FLUSH_ON_DESTROY is 'yes'" in done.stdout and "it stays 8" in done.stdout, done.stdout[-1000:])
    names = sorted(n for n in os.listdir(setup.folder) if re.fullmatch(r"p\d+-n[0-9]\.json", n))
    expect(len(names) == 3, f"one capture for each build was expected, not {names}")
    first = play(setup, names[0][:-5], "-o", setup.path("first"))
    expect(first.returncode == 0 and same_files(setup.path("first"), setup.path("engine0")), first.stdout)
    done = captured(setup, command, "none", TRT_SHIM_OUTPUT_JSON_FILE="", TRT_SHIM_FORCE_SINGLE_THREAD_API="1")
    expect(done.returncode == 0, done.stdout[-1000:])
    done = captured(setup, command, "lost", TRT_SHIM_NVINFER_LIB_NAME="libnothing.so")
    expect(done.returncode != 0 and "libnothing.so" in done.stdout, done.stdout[-1000:])
    done = captured(setup, command, "folder/that/is/missing")
    expect(done.returncode == 0 and "cannot write" in done.stdout, done.stdout[-1000:])


def damage(setup):
    """Every damage is named with its line, and nothing crashes."""
    done = captured(setup, [setup.program("capture_program"), "interleaved", setup.path("engine")], "whole")
    expect(done.returncode == 0, done.stdout[-1000:])
    with open(setup.path("whole.json"), encoding="utf-8") as file:
        text = file.read().split("\n")
    add = next(i for i, line in enumerate(text) if "addElementWise" in line)
    data = next(i for i, line in enumerate(text) if '"offset"' in line)
    cases = {
        "cut": (text[:len(text) // 2], "ends here"),
        "not JSON": (text[:5] + ["{]"] + text[6:], "line 6"),
        "unknown function": (text[:add] + [text[add].replace("addElementWise", "addNothing")] + text[add + 1:],
                             f"line {add + 1}: unknown function"),
        "arguments": (text[:add] + [re.sub(r'"a":\[\d+,', '"a":[', text[add])] + text[add + 1:], f"line {add + 1}"),
        "object": (text[:add] + [re.sub(r'"a":\[\d+', '"a":[999999', text[add])] + text[add + 1:], "999999 is no ITensor"),
        "type": (text[:add] + [re.sub(r'"k\w+"', '"kNOTHING"', text[add])] + text[add + 1:], "an enumerator of"),
        "bytes": (text[:data] + [re.sub(r'"offset":\d+', '"offset":99999999', text[data])] + text[data + 1:],
                  f"line {data + 1}"),
        "hash": (text[:data] + [re.sub(r'"xxh3":"..', '"xxh3":"zz', text[data])] + text[data + 1:], "not those that were"),
        "version": ([text[0].replace('"version":1', '"version":7')] + text[1:], "version 7"),
        "empty": ([""], "cannot be read"),
        "a line less": (text[:add] + text[add + 1:], "line"),
    }
    for name, (changed, expected) in cases.items():
        with open(setup.path("damaged.json"), "w", encoding="utf-8") as file:
            file.write("\n".join(changed))
        played = play(setup, "damaged", "-o", setup.path("damaged"))
        expect(played.returncode == 1 and expected in played.stdout, f"{name}: {played.returncode} {played.stdout}")
    os.truncate(setup.path("whole.bin"), 100)
    played = play(setup, "whole", "-o", setup.path("damaged"))
    expect(played.returncode == 1 and "file of weights of 100 bytes" in played.stdout, played.stdout)


def fuzz(setup):
    """Damaged captures against a library whose objects only remember calls; its memory is never freed, hence the parts."""
    scene(setup, "interleaved", 3)
    scene(setup, "users", 1, replay_code=play_code_of_users(setup))
    runs = int(os.environ.get("TENON_FUZZ_RUNS", "6000"))
    part = min(runs, 3000)
    for number in range(max(2, runs // part)):
        name = ("interleaved", "users")[number % 2]
        done = run([setup.program("capture_fuzz"), setup.path(name + ".json"), str(part), str(number * part)],
                   {"LD_LIBRARY_PATH": setup.recorder, "TENON_DEVICE": "cpu"})
        expect(done.returncode == 0, f"{done.returncode}: {done.stdout[-2000:]}")
        print(done.stdout.strip().split("\n")[-1])


def models(setup):
    """Each small model of the collection through the ONNX parser."""
    folder = os.environ.get("TENON_MODELS") or os.path.join(setup.source, "..", "shared", "models")
    index = os.path.join(folder, "INDEX.md")
    if not os.path.exists(index):
        print(f"skipped: no models in '{folder}'; TENON_MODELS names their folder")
        return support.SKIPPED
    limit = int(os.environ.get("TENON_CAPTURE_MODEL_BYTES", "700000"))
    with open(index, encoding="utf-8") as file:
        names = re.findall(r"^\| F \| (onnx/[^ |]+\.onnx) ", file.read(), re.M)
    chosen = [n for n in names if os.path.exists(os.path.join(folder, n)) and os.path.getsize(os.path.join(folder, n)) <= limit]
    expect(len(chosen) > 3, f"only {chosen} are small enough")
    refused = 0
    for name in chosen:
        command = [setup.program("trtexec"), "--onnx=" + os.path.join(folder, name), "--builderOptimizationLevel=0",
                   "--skipInference"]
        done = captured(setup, command, "model")
        played = play(setup, "model", "-o", setup.path("replayed"))
        if done.returncode != 0:
            refused += 1
            expect(played.returncode in (0, 3), f"{name}: trtexec refuses it, the player ends with {played.returncode}: "
                                                f"{played.stdout[-1000:]}")
            continue
        expect(played.returncode == 0 and ", the application's engine" in played.stdout and "differ from" not in played.stdout,
               f"{name}: {played.returncode} {played.stdout[-1000:]}")
        print(f"{name}: {os.path.getsize(setup.path('model.json'))} bytes of calls")
    print(f"{len(chosen)} models, {refused} of them refused by the parser or the build")
    return 0


def main():
    tests = {f.__name__: f for f in (layers, interleaved, threads, failure, users, profiles, streams, plugins, options, killed,
                                     trtexec, python,
                                     environment, damage, models, fuzz)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--keep", action="store_true", help="leave the files of the test")
    parser.add_argument("--recorder", help="folder of a libnvinfer that only remembers calls, for the test fuzz")
    parser.add_argument("test", choices=sorted(tests))
    given = parser.parse_args()
    setup = Setup(os.path.abspath(given.build))
    setup.recorder = given.recorder
    try:
        return tests[given.test](setup) or 0
    except Failed as error:
        print(f"failed: {error}")
        return 1
    finally:
        if not given.keep:
            setup.clean()


if __name__ == "__main__":
    sys.exit(main())
