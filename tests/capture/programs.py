# SPDX-License-Identifier: Apache-2.0
"""Programs with scenes of their own: their captures replay to the same engines, byte by byte, and to the same failures."""
import os
import random
import re
import signal
import subprocess
import sys
import time

import support
from support import DEVICE, captured, expect, lines_of, play, same_files, scene

FAILED_AGAIN = 3


def layers(setup):
    # Builds fail for layers that the library refuses: the player must meet the same failures and go on.
    output = scene(setup, "layers", 21, replay_code=FAILED_AGAIN)
    calls = lines_of(setup.path("layers.json"))
    made = {c["new"] for c in calls if "new" in c}
    expect(len(made) > 35, f"only {sorted(made)} were captured")
    expect("differ from" not in output, output[-2000:])
    sys.path.insert(0, os.path.join(setup.source, "capture", "api"))
    from description import Api  # pylint: disable=import-error,import-outside-toplevel
    offered = {m.name for m in Api().methods if m.name.startswith("INetworkDefinition.add")}
    missing = offered - {c["m"] for c in calls if "m" in c} - {"INetworkDefinition.addPluginV2",
                                                               "INetworkDefinition.addPluginV3"}
    expect(not missing, f"no scene adds {sorted(missing)}")


def control_flow(setup):
    # Every function of loops, conditionals and what else a program needs that a build sees, and the same plans.
    output = scene(setup, "control_flow", 7)
    expect("differ from" not in output, output[-2000:])
    sys.path.insert(0, os.path.join(setup.source, "capture", "api"))
    from description import Api  # pylint: disable=import-error,import-outside-toplevel
    classes = ("ILoop.", "IRecurrenceLayer.", "ITripLimitLayer.", "IIteratorLayer.", "ILoopOutputLayer.",
               "ILoopBoundaryLayer.", "IIfConditional.", "IConditionLayer.", "IIfConditionalInputLayer.",
               "IIfConditionalOutputLayer.", "IIfConditionalBoundaryLayer.", "IAssertionLayer.", "IKVCacheUpdateLayer.",
               "INonZeroLayer.")
    offered = {m.name for m in Api().methods
               if m.name.startswith(classes) or "Debug" in m.name and m.name.startswith("INetworkDefinition.")}
    missing = offered - {c["m"] for c in lines_of(setup.path("control_flow.json")) if "m" in c}
    expect(len(offered) > 30 and not missing, f"of {len(offered)} functions, the scene does not call {sorted(missing)}")


def interleaved(setup):
    scene(setup, "interleaved", 3)
    listed = play(setup, "interleaved", "--list").stdout
    expect(listed.count("\nnetwork ") == 3 and "build 0 of network 2" in listed, listed)
    expect({c["network"] for c in lines_of(setup.path("interleaved.json")) if "weights" in c} == {1, 2, 3}, listed)
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
    output = scene(setup, "failure", 0, replay_code=FAILED_AGAIN)
    named = r"build 0 \(line \d+\): IBuilder.buildSerializedNetwork fails as it did in the application: .*\w"
    expect(re.search(named, output), output)


def users(setup):
    output = scene(setup, "users", 1, replay_code=FAILED_AGAIN)
    expect("fails, but not" not in output, output)


def profiles(setup):
    scene(setup, "profiles", 1)


def streams(setup):
    output = scene(setup, "streams", 1, replay_code=0)
    expect("the application's engine" in output, output)
    scene(setup, "slow_streams", 1, replay_code=FAILED_AGAIN)


def plugins(setup):
    library = os.path.join(setup.libraries, "libcapture_plugins.so")
    command = [setup.program("capture_program"), "plugins", setup.path("engine")]
    done = captured(setup, command, "plugins", TENON_CAPTURE_PLUGINS=library)
    expect(done.returncode == 0 and "TimesThree 'second' by 2.5" in done.stdout, done.stdout[-2000:])
    expect("plugins built" in done.stdout and os.path.exists(setup.path("engine")), done.stdout[-2000:])
    rows = [c for c in lines_of(setup.path("plugins.json")) if "plugin" in c]
    expect([(r["type"], r["version"], "fields" in r, r.get("request")) for r in rows] ==
           [("TimesTwo", "2", True, None), ("TimesThree", "3", True, None), ("TimesTwo", "2", False, None),
            ("TimesQuick", "1", True, 4)], str(rows))
    missing = play(setup, "plugins", "-o", setup.path("replayed"))
    expect(missing.returncode == 1 and "plugin 'TimesTwo', version '2', namespace ''" in missing.stdout, missing.stdout)
    for played in (play(setup, "plugins", "-o", setup.path("replayed"), "--plugins", library),
                   play(setup, "plugins", "-o", setup.path("replayed"), LD_PRELOAD=library)):
        expect(played.returncode == (0 if os.path.exists(setup.path("engine")) else FAILED_AGAIN),
               played.stdout[-2000:])
        for made in ("TimesTwo 'first' by 2.5", "TimesThree 'second' by 2.5", "from bytes, by 7.5",
                     "TimesQuick 'fourth' in 'capture' by 2.5, request 4"):
            expect(made in played.stdout, f"{made}: {played.stdout[-2000:]}")
        expect("differ from" not in played.stdout and "not the application's bytes" not in played.stdout,
               played.stdout[-2000:])
        refused = [c["m"] for c in lines_of(setup.path("plugins.json")) if "addPlugin" in c.get("m", "")
                   and c["r"] is None]
        expect(refused == [] and os.path.exists(setup.path("engine")), played.stdout)
    # A program with one plugin: the same engine again.
    done = captured(setup, [command[0], "plugin_refused", setup.path("alone")], "alone", TENON_CAPTURE_PLUGINS=library)
    expect(done.returncode == 0 and "no layer" not in done.stdout, done.stdout)
    played = play(setup, "alone", "-o", setup.path("alone_again"), "--plugins", library)
    expect(played.returncode == 0 and same_files(setup.path("alone"), setup.path("alone_again")), played.stdout)


def answers(setup):
    """What the application implements: refused by the library as before; answered where a library asks."""
    command = [setup.program("capture_program"), "answers", setup.path("engine")]
    done = captured(setup, command, "refused")
    expect(done.returncode == 0 and "own 1" in done.stdout, done.stdout)
    played = play(setup, "refused", "-o", setup.path("replayed"))
    expect(played.returncode == (FAILED_AGAIN if "refused" in done.stdout else 0), played.stdout)
    asking = os.path.join(setup.libraries, "libcapture_asking.so")
    done = captured(setup, command, "answered", TRT_SHIM_NVINFER_LIB_NAME=asking)
    expect(done.returncode == 0 and "own 1, built, cache 'sum 4.0" in done.stdout, done.stdout)
    with open(setup.path("engine"), "rb") as file:
        begin = file.read(400)
    expect(begin.startswith(b"algorithm 2, batches of 3, cache sum 4.0") and b"first: 10 11 12 13" not in begin,
           str(begin))
    for asked in (b"memory: given refused given", b"errors: go on fatal go on", b"steps: go on go on stop"):
        expect(asked in begin, str(begin))
    played = play(setup, "answered", "-o", setup.path("replayed"), LD_PRELOAD=asking)
    expect(played.returncode == 0 and ", the application's engine" in played.stdout, played.stdout)
    expect(same_files(setup.path("engine"), setup.path("replayed")), "the answers are others")


def killed(setup):
    """Whatever ends the process: the last flush can be replayed."""
    scene(setup, "killed", 1, code=-9, TRT_SHIM_FLUSH_ON_BUILD="1")
    done = captured(setup, [setup.program("capture_program"), "killed_inside", setup.path("none")], "inside",
                    TRT_SHIM_FLUSH_ON_BUILD="1")
    expect(done.returncode == -9 and "did not end" in play(setup, "inside", "--list").stdout, done.stdout)
    played = play(setup, "inside", "-o", setup.path("inside"))
    expect(played.returncode == 0 and same_files(setup.path("inside"), setup.path("engine")), played.stdout)
    done = captured(setup, [setup.program("capture_program"), "killed_later", setup.path("later")], "later",
                    TRT_SHIM_FLUSH_ON_DESTROY="1")
    expect(lines_of(setup.path("later.json"))[-2]["m"] == "INetworkDefinition.delete", "the flush came elsewhere")
    played = play(setup, "later", "-o", setup.path("later_again"))
    expect(played.returncode == 0 and same_files(setup.path("later"), setup.path("later_again")), played.stdout)
    for number in range(4):
        environment = support.environment_of(setup, f"busy{number}", TRT_SHIM_FLUSH_AFTER_EVERY_CALL="1")
        with subprocess.Popen([setup.program("capture_program"), "busy", setup.path("busy")],
                              env=environment) as process:
            until = time.monotonic() + 60
            while not os.path.exists(setup.path(f"busy{number}.json")) and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(random.random())
            process.send_signal(signal.SIGKILL)
        played = play(setup, f"busy{number}", "-o", setup.path("busy_again"))
        expect(played.returncode == 0, played.stdout)


def large(setup):
    """100 MB of weights: they stream into the file, and no second copy of them is held."""
    plain, peak_plain = support.peak([setup.program("capture_program"), "large", setup.path("engine")],
                                     {"TENON_DEVICE": DEVICE})
    code, peak = support.peak([setup.program("capture_program"), "large", setup.path("engine")],
                              support.environment_of(setup, "large"))
    expect(plain == 0 and code == 0, "the program fails")
    print(f"peak of memory: {peak_plain:.0f} MiB, with capture {peak:.0f} MiB")
    expect(peak <= peak_plain + 64, f"{peak:.0f} MiB with capture, {peak_plain:.0f} MiB without")
    expect(os.path.getsize(setup.path("large.json")) < 20000, "weights stand in the JSON file")
    played = play(setup, "large", "-o", setup.path("replayed"))
    expect(played.returncode == 0 and same_files(setup.path("engine"), setup.path("replayed")), played.stdout)
