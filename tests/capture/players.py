# SPDX-License-Identifier: Apache-2.0
"""Options of the player."""
import os
import re
import shutil
import signal
import subprocess

from support import DEVICE, captured, expect, play, play_on_terminal, run, same_files, scene
from programs import FAILED_AGAIN


def verify(setup):
    """--verify tells agreeing engines from others, for each build."""
    scene(setup, "interleaved", 3)
    bar = play_on_terminal(setup, "interleaved", "-o", setup.path("shown"))
    expect(re.search(r"\[#{39,40} ?\] +(9\d|100) %", bar), f"no bar on a terminal: {bar!r}")
    narrow = play_on_terminal(setup, "interleaved", "-o", setup.path("shown"), columns=20)
    drawn = re.findall(r"\r(\[[^\r]*%)", narrow)
    expect(drawn and all(len(line) < 20 for line in drawn), f"the bar does not fit 20 columns: {narrow!r}")
    same = play(setup, "interleaved", "--network", "1", "-o", setup.path("one"), "--verify", "--engine",
                setup.path("engine1"))
    expect(same.returncode == 0 and "1 outputs agree" in same.stdout, same.stdout)
    engines = [setup.path(f"engine{i}") for i in range(3)]
    for references in ([setup.path("engine")], engines):
        every = play(setup, "interleaved", "-o", setup.path("all"), "--verify", "--engine", *references)
        expect(every.returncode == 0 and all(f"build {i}: 1 outputs agree" in every.stdout for i in range(3)),
               every.stdout)
    swapped = play(setup, "interleaved", "-o", setup.path("all"), "--verify", "--engine", engines[0], engines[2],
                   engines[1])
    expect(swapped.returncode == 2 and "build 0: 1 outputs agree" in swapped.stdout
           and "build 1: tensor '" in swapped.stdout,
           swapped.stdout)
    few = play(setup, "interleaved", "-o", setup.path("all"), "--verify", "--engine", engines[0], engines[1])
    expect(few.returncode == 1 and "2 engines with --engine for 3 builds" in few.stdout, few.stdout)
    done = captured(setup, [setup.program("capture_program"), "interleaved", setup.path("other")], "random",
                    TRT_SHIM_MARK_AS_RANDOM_WEIGHTS_GREATER_EQUAL_THAN="60")
    expect(done.returncode == 0, done.stdout)
    other = play(setup, "random", "-o", setup.path("one"), "--verify", "--engine", setup.path("engine"))
    expect(other.returncode == 2 and other.stdout.count("tensor '") == 3, other.stdout)


def lost_output(setup):
    """What cannot be printed or written is an error, and leaves no part of a file."""
    scene(setup, "interleaved", 3)
    player = setup.program("tensorrt_player")
    capture = ["-j", setup.path("interleaved.json")]
    for words in (["--help"], [*capture, "--list"], [*capture, "-o", setup.path("lost")]):
        for redirected in (">/dev/full", ">&-"):
            done = run(["sh", "-c", f'exec "$0" "$@" {redirected}', player, *words])
            expect(done.returncode == 1 and "could not be written" in done.stdout, f"{words} {redirected}: {done.stdout}")
    for words in (["-o", "/dev/full", "--network", "1"], ["--emit-cpp", "/dev/full"]):
        done = play(setup, "interleaved", *words)
        expect(done.returncode == 1 and "cannot write" in done.stdout and "No space left on device" in done.stdout, done.stdout)
    expect(not [name for name in os.listdir(setup.folder) if ".part" in name], "parts of files are left")
    program = compiled(setup, "interleaved")
    os.makedirs(setup.path("blocked0"))
    ran = run([program, setup.path("interleaved.bin"), setup.path("blocked")])
    expect(ran.returncode == 3 and "cannot write" in ran.stdout, f"{ran.returncode} {ran.stdout}")


def interrupted(setup):
    """A signal ends a build of the player in good order, and the timing cache is kept."""
    model = os.path.join(setup.source, "models", "digits", "digits.onnx")
    done = captured(setup, [setup.program("trtexec"), f"--onnx={model}", "--skipInference", "--avgTiming=1000000",
                            "--builderOptimizationLevel=0"], "fast")
    expect(done.returncode == 0, done.stdout)
    capture = setup.path("fast.json")
    with open(capture, encoding="utf-8") as file:  # the same calls, with a build that measures for seconds
        text = file.read()
    slow = re.sub(r'("IBuilderConfig.setBuilderOptimizationLevel",[^\n]*"a":\[)0\]', r"\g<1>5]", text)
    expect(slow != text, "the capture does not hold the optimization level")
    with open(capture, "w", encoding="utf-8") as file:
        file.write(slow)
    for number, extra in ((signal.SIGINT, ["--timing-cache", setup.path("kept")]), (signal.SIGTERM, [])):
        with subprocess.Popen([setup.program("tensorrt_player"), "-j", capture, "-o", setup.path("never"), "-v", *extra],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=dict(os.environ, TENON_DEVICE=DEVICE)) as process:
            timed = 0
            for line in process.stdout:
                timed += "timed " in line
                if timed == 5:
                    break
            process.send_signal(number)
            rest = process.stdout.read()
            status = process.wait(timeout=60)
        expect(status == 128 + number and number.name in rest and "no engine is written" in rest, f"{status} {rest}")
    expect(not os.path.exists(setup.path("never")), "an engine of a build that was ended")
    expect(os.path.getsize(setup.path("kept")) > 300, "the timings are lost")


def compiled(setup, name):
    """The program that --emit-cpp writes of a capture."""
    emitted = play(setup, name, "--emit-cpp", setup.path(name + ".cpp"))
    expect(emitted.returncode == 0, emitted.stdout)
    compiler = os.environ.get("CXX") or shutil.which("c++")
    built = run([compiler, "-std=c++17", "-O0", "-w", "-I" + os.path.join(setup.source, "include"),
                 "-I" + os.path.join(setup.source, "hostcuda", "include", "cudart"), setup.path(name + ".cpp"), "-o",
                 setup.path(name + "_program"), "-L" + setup.libraries, "-lnvinfer", os.path.join(setup.libraries,
                                                                                                  "libcudart.so.13"), "-Wl,-rpath," + setup.libraries])
    expect(built.returncode == 0, f"{name}: {built.stdout[-3000:]}")
    return setup.path(name + "_program")


def emitted(setup):
    """--emit-cpp gives programs that make the same engines, also with plugins and with what the application answered."""
    plugin_library = os.path.join(setup.libraries, "libcapture_plugins.so")
    asking = os.path.join(setup.libraries, "libcapture_asking.so")
    cases = {"interleaved": 0, "layers": FAILED_AGAIN, "users": FAILED_AGAIN, "profiles": 0, "streams": 0,
             "slow_streams": FAILED_AGAIN, "plugins": 0, "answers": 0}
    for name, code in cases.items():
        variables = {"answers": {"TRT_SHIM_NVINFER_LIB_NAME": asking},
                     "plugins": {"TENON_CAPTURE_PLUGINS": plugin_library}}
        done = captured(setup, [setup.program("capture_program"), name, setup.path(name + "_engine")], name,
                        **variables.get(name, {}))
        expect(done.returncode == 0, f"{name}: {done.stdout}")
        plugins = [plugin_library] if name == "plugins" else []
        program = compiled(setup, name)
        ran = run([program, setup.path(name + ".bin"), setup.path(name + "_emitted"), *plugins],
                  {"TENON_DEVICE": DEVICE, "LD_PRELOAD": asking if name == "answers" else ""})
        expect(ran.returncode == code, f"{name}: {ran.returncode} {ran.stdout[-2000:]}")
        played = play(setup, name, "-o", setup.path(name + "_replayed"),
                      *(["--plugins", plugin_library] if plugins else []),
                      LD_PRELOAD=asking if name == "answers" else "")
        compared = 0
        for number in [""] + list(range(100)):
            replayed = setup.path(f"{name}_replayed{number}")
            if os.path.exists(replayed):
                expect(same_files(replayed, setup.path(f"{name}_emitted{number or 0}")),
                       f"{name}: engine {number} differs")
                compared += 1
        expect(compared > 0, f"{name}: nothing to compare: {played.stdout[-500:]}")
        print(f"{name}: {compared} engines")


def measured(setup):
    """Builds that measure: with the application's timing cache the replay makes the application's engine."""
    command = [setup.program("capture_program"), "measured", setup.path("engine")]
    done = captured(setup, command, "measured")
    expect(done.returncode == 0, done.stdout)
    played = play(setup, "measured", "-o", setup.path("replayed"), "--timing-cache", setup.path("engine.cache"))
    expect(played.returncode == 0 and ", the application's engine" in played.stdout, played.stdout)
    expect(same_files(setup.path("engine"), setup.path("replayed")), "another engine with the same timing cache")
    # A cache that the player itself writes.
    for stem in ("first", "second"):
        played = play(setup, "measured", "-o", setup.path(stem), "--timing-cache", setup.path("own.cache"))
        expect(played.returncode == 0 and os.path.getsize(setup.path("own.cache")) > 32, played.stdout)
    expect(same_files(setup.path("first"), setup.path("second")), "the player's own timing cache changes nothing")
    # A cache that the application reads itself is part of its capture.
    shutil.copy(setup.path("engine.cache"), setup.path("engine.given"))
    done = captured(setup, command, "given")
    expect(done.returncode == 0, done.stdout)
    played = play(setup, "given", "-o", setup.path("replayed"))
    expect(played.returncode == 0 and same_files(setup.path("engine"), setup.path("replayed")), played.stdout)
    with open(setup.path("bad.cache"), "wb") as file:
        file.write(b"not a timing cache" * 10)
    played = play(setup, "measured", "-o", setup.path("replayed"), "--timing-cache", setup.path("bad.cache"))
    expect(played.returncode == 1 and "bad.cache' is not a timing cache" in played.stdout and "is not changed" in played.stdout, played.stdout)
    with open(setup.path("bad.cache"), "rb") as file:
        expect(file.read() == b"not a timing cache" * 10, "a file that is not a timing cache was written over")
