# SPDX-License-Identifier: Apache-2.0
"""The variables of the shim, and damaged captures."""
import os
import re

import capture_reader
import schema_check
from support import DEVICE, captured, check_capture, expect, lines_of, play, run, same_files


def environment(setup):
    """Each variable does what it says, and wrong values are named."""
    command = [setup.program("capture_program"), "interleaved", setup.path("engine")]
    done = captured(setup, command, "all", TRT_SHIM_FLUSH_AFTER_EVERY_CALL="1", TRT_SHIM_DUMP_API="1",
                    TRT_SHIM_INLINE_WEIGHTS_LOWER_EQUAL_THAN="64")
    expect(done.returncode == 0 and "[tensorrt_shim] {\"o\":" in done.stdout, done.stdout[-1000:])
    expect(all("inline" in c for c in lines_of(setup.path("all.json")) if "weights" in c),
           "weights of 64 are not inline")
    expect(play(setup, "all", "-o", setup.path("all")).returncode == 0, "inline weights do not replay")
    done = captured(setup, command, "random", TRT_SHIM_MARK_AS_RANDOM_WEIGHTS_GREATER_EQUAL_THAN="60")
    calls = lines_of(setup.path("random.json"))
    expect(done.returncode == 0 and all(c.get("random") for c in calls if "weights" in c), "weights are not marked")
    for seed, stem in (("3", "one"), ("3", "same"), ("4", "other")):
        played = play(setup, "random", "--random-weights", seed, "-o", setup.path(stem))
        expect(played.returncode == 0, played.stdout)
    expect(same_files(setup.path("one0"), setup.path("same0")), "the same seed gives other weights")
    expect(not same_files(setup.path("one0"), setup.path("other0")), "the seed changes nothing")
    done = captured(setup, command, "p%p-n%n", TRT_SHIM_FLUSH_ON_BUILD="1")
    names = sorted(n for n in os.listdir(setup.folder) if re.fullmatch(r"p\d+-n[0-9]\.json", n))
    expect(len(names) == 3, f"one capture for each build was expected, not {names}")
    first = play(setup, names[0][:-5], "-o", setup.path("first"))
    expect(first.returncode == 0 and same_files(setup.path("first"), setup.path("engine0")), first.stdout)


SWITCHES = ("DUMP_API", "PRINT_WELCOME", "FORCE_SINGLE_THREAD_API", "FLUSH_AFTER_EVERY_CALL", "FLUSH_ON_BUILD",
            "FLUSH_ON_DESTROY")


def wrong_values(setup):
    """Each variable with a value that makes no sense: a clear message, and the default stays."""
    command = [setup.program("capture_program"), "profiles", setup.path("engine")]
    cases = [("TRT_SHIM_" + name, value, "expected 0 or 1; it stays 0") for name in SWITCHES for value in ("yes", "2")]
    for name, default in (("INLINE_WEIGHTS_LOWER_EQUAL_THAN", 8),
                          ("MARK_AS_RANDOM_WEIGHTS_GREATER_EQUAL_THAN", 2**63 - 1)):
        cases += [("TRT_SHIM_" + name, value, f"expected a number of elements, at least 0; it stays {default}")
                  for value in ("many", "-3", "1.5", "9" * 30)]
    for name, value, message in cases:
        done = captured(setup, command, "wrong", **{name: value})
        expect(done.returncode == 0 and f"[tensorrt_shim] {name} is '{value}': {message}" in done.stdout,
               f"{name}={value}: {done.stdout[-500:]}")
    played = play(setup, "wrong", "-o", setup.path("replayed"))
    expect(played.returncode == 0 and same_files(setup.path("engine"), setup.path("replayed")), played.stdout)
    done = captured(setup, command, "lost", TRT_SHIM_NVINFER_LIB_NAME="libnothing.so")
    expect(done.returncode != 0 and "libnothing.so" in done.stdout and "TRT_SHIM_NVINFER_LIB_NAME" in done.stdout,
           done.stdout)
    done = captured(setup, command, "itself", TRT_SHIM_NVINFER_LIB_NAME=setup.shim)
    expect(done.returncode != 0 and "is the shim itself" in done.stdout, done.stdout)
    done = captured(setup, command, "folder/that/is/missing")
    expect(done.returncode == 0 and "cannot write" in done.stdout, done.stdout[-1000:])
    expect(os.path.getsize(setup.path("engine")) > 0, "a capture that cannot be written stops the application")


def exported(library):
    """The functions a library exports."""
    return {line.split()[-1] for line in run(["nm", "-D", "--defined-only", library]).stdout.splitlines()}


def library_and_threads(setup):
    """Where the library is looked for, what the shim exports in its place, and one call at a time."""
    expect(exported(setup.shim) == exported(setup.library), str(exported(setup.shim) ^ exported(setup.library)))
    command = [setup.program("capture_program"), "threads", setup.path("engine")]
    for name in ("", "libnvinfer.so.10"):
        done = captured(setup, command, "named", TRT_SHIM_NVINFER_LIB_NAME=name, LD_LIBRARY_PATH=setup.libraries,
                        TRT_SHIM_PRINT_WELCOME="1")
        expect(done.returncode == 0 and f"recording the calls of {setup.libraries}" in done.stdout,
               f"'{name}': {done.stdout}")
    done = captured(setup, command, "none", TRT_SHIM_OUTPUT_JSON_FILE="", TRT_SHIM_FORCE_SINGLE_THREAD_API="1",
                    TRT_SHIM_PRINT_WELCOME="on")
    expect(done.returncode == 0 and "into nothing" in done.stdout, done.stdout[-1000:])
    expect(not os.path.exists(setup.path("none.json")), "a capture without TRT_SHIM_OUTPUT_JSON_FILE")
    done = captured(setup, command, "both", TRT_SHIM_FORCE_SINGLE_THREAD_API="1")
    expect(done.returncode == 0 and play(setup, "both", "-o", setup.path("replayed")).returncode == 0,
           done.stdout[-1000:])


def tactic_cache(setup):
    """TRT_SHIM_SET_TACTIC_CACHE: an application without a timing cache gets one, and so does its replay."""
    model = os.path.join(setup.source, "models", "digits", "digits.onnx")
    command = [setup.program("trtexec"), "--onnx=" + model, "--skipInference", "--saveEngine="]
    cache = setup.path("timing.cache")
    done = run(command[:-1] + ["--saveEngine=" + setup.path("plain"), "--timingCacheFile=" + cache],
               {"TENON_DEVICE": DEVICE})
    expect(done.returncode == 0 and os.path.getsize(cache) > 32, done.stdout[-1000:])
    done = captured(setup, command[:-1] + ["--saveEngine=" + setup.path("engine")], "cached",
                    TRT_SHIM_SET_TACTIC_CACHE=cache)
    expect(done.returncode == 0 and same_files(setup.path("plain"), setup.path("engine")), "the cache is not applied")
    played = play(setup, "cached", "-o", setup.path("replayed"))
    expect(played.returncode == 0 and same_files(setup.path("engine"), setup.path("replayed")), played.stdout)
    # Files that are no timing cache: the library begins with an empty one.
    for name, message in ((setup.path("nothing"), f"cannot read '{setup.path('nothing')}'; no cache is applied"),
                          (model, "")):
        done = captured(setup, [setup.program("capture_program"), "profiles", setup.path("other")], "uncached",
                        TRT_SHIM_SET_TACTIC_CACHE=name)
        expect(done.returncode == 0 and message in done.stdout, done.stdout[-1000:])
        expect(play(setup, "uncached", "-o", setup.path("replayed")).returncode == 0, "the capture does not replay")


def is_refused_elsewhere(setup, name):
    """Whether the second reader or the schema finds fault with a capture: the other tests rely on that they can."""
    try:
        check_capture(setup, name)
        return False
    except (ValueError, KeyError, capture_reader.Damaged, schema_check.Mismatch):
        return True


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
        "object": (text[:add] + [re.sub(r'"a":\[\d+', '"a":[999999', text[add])] + text[add + 1:],
                   "999999 is not a ITensor"),
        "type": (text[:add] + [re.sub(r'"k\w+"', '"kNOTHING"', text[add])] + text[add + 1:], "an enumerator of"),
        "bytes": (text[:data] + [re.sub(r'"offset":\d+', '"offset":99999999', text[data])] + text[data + 1:],
                  f"line {data + 1}"),
        "hash": (text[:data] + [re.sub(r'"xxh3":"..', '"xxh3":"zz', text[data])] + text[data + 1:],
                 "not those that were"),
        "version": ([text[0].replace('"version":1', '"version":7')] + text[1:], "version 7"),
        "empty": ([""], "cannot be read"),
        "a line less": (text[:add] + text[add + 1:], "line"),
    }
    for name, (changed, expected) in cases.items():
        with open(setup.path("damaged.json"), "w", encoding="utf-8") as file:
            file.write("\n".join(changed))
        played = play(setup, "damaged", "-o", setup.path("damaged"))
        expect(played.returncode == 1 and expected in played.stdout, f"{name}: {played.returncode} {played.stdout}")
        if name in ("cut", "not JSON", "bytes", "version", "empty", "a line less"):
            expect(is_refused_elsewhere(setup, "damaged.json"), f"{name}: the second reader and the schema see nothing")
    for name, changed in (("bytes", re.sub(r'"bytes":\d+,', "", text[data])),
                          ("name", text[add].replace("kSUM", "kSUM(1)"))):
        number = data if name == "bytes" else add
        with open(setup.path("damaged.json"), "w", encoding="utf-8") as file:
            file.write("\n".join(text[:number] + [changed] + text[number + 1:]))
        expect(changed != text[number], name)
        emitted = play(setup, "damaged", "--emit-cpp", setup.path("damaged.cpp"))
        expect(emitted.returncode == 1 and not os.path.exists(setup.path("damaged.cpp")), f"{name}: {emitted.stdout}")
    os.mkfifo(setup.path("fifo"))
    with open(setup.path("sparse"), "wb") as file:
        file.truncate(10 << 30)
    for strange, said in (("/dev/zero", "it is a device"), (setup.path("fifo"), "it is a pipe"), (setup.path(""), "it is a folder"),
                          (setup.path("sparse"), "line 1: it does not begin like a capture")):
        os.remove(setup.path("damaged.json"))
        os.symlink(strange, setup.path("damaged.json"))
        played = play(setup, "damaged", "-o", setup.path("damaged"))
        expect(played.returncode == 1 and said in played.stdout, f"{strange}: {played.returncode} {played.stdout}")
        if strange != setup.path("sparse"):
            played = play(setup, "whole", "-o", setup.path("damaged"), "--timing-cache", strange)
            expect(played.returncode == 1 and said in played.stdout, f"timing cache {strange}: {played.returncode} {played.stdout}")
    os.truncate(setup.path("whole.bin"), 100)
    played = play(setup, "whole", "-o", setup.path("damaged"))
    expect(played.returncode == 1 and "file of weights of 100 bytes" in played.stdout, played.stdout)


def fuzz(setup):
    """Damaged captures against a library whose objects only remember calls."""
    variables = {"plugins": {"TENON_CAPTURE_PLUGINS": os.path.join(setup.libraries, "libcapture_plugins.so")},
                 "answers": {"TRT_SHIM_NVINFER_LIB_NAME": os.path.join(setup.libraries, "libcapture_asking.so")}}
    names = ("interleaved", "users", "answers", "plugins")
    part = int(os.environ.get("TENON_FUZZ_RUNS", "6000")) // len(names)
    for number, name in enumerate(names):
        done = captured(setup, [setup.program("capture_program"), name, setup.path("engine")], name,
                        **variables.get(name, {}))
        expect(done.returncode == 0, done.stdout[-2000:])
        done = run([setup.program("capture_fuzz"), setup.path(name + ".json"), str(part), str(number * part)],
                   {"LD_LIBRARY_PATH": setup.recorder, "TENON_DEVICE": DEVICE}, timeout=None)
        expect(done.returncode == 0, f"{name}: {done.returncode}: {done.stdout[-2000:]}")
        print(f"{name}: " + done.stdout.strip().split("\n")[-1])
