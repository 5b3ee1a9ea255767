# SPDX-License-Identifier: Apache-2.0
"""Plugins written in Python: other processes, missing creators, exceptions of each function, who keeps whom, threads, memory."""
import gc
import os
import subprocess
import sys
import tempfile
import threading
import weakref

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position
from plugin_classes import ALIVE, Logger, OldShift, Oops, PLUGINS, Settings, Shift, ShiftCreator, X, network_of, plan_with, register, run  # noqa: E402  pylint: disable=wrong-import-position


def test_save_and_load_in_another_process():
    register()
    for kind, make in PLUGINS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/engine"
            with open(path, "wb") as file:
                file.write(plan_with(trt.Logger(trt.Logger.ERROR), make()))
            code = (f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import plugin_classes as plugins; plugins.register()\n"
                    f"print(plugins.run(open({path!r}, 'rb').read()).tolist())")
            done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
            assert done.stdout.strip() == str((X + np.float32(2.5)).tolist()), (kind, done.stdout, done.stderr)


def test_missing_creator_is_named():
    register()
    for kind, make in PLUGINS.items():
        plan = plan_with(trt.Logger(trt.Logger.ERROR), make())
        name = {"v3": "Shift", "v2": "OldShift"}[kind]
        registry = trt.get_plugin_registry()
        assert registry.deregister_creator(registry.get_creator(name, "1"))
        logger = Logger()
        assert trt.Runtime(logger).deserialize_cuda_engine(plan) is None
        text = " ".join(logger.errors)
        for part in ("layer 'the layer'", f"plugin '{name}'", "version '1'", "registerCreator"):
            assert part in text, (part, text)


# What the library says where a function raised, besides the exception itself; None: the library works without the answer.
NAMED = {
    "v3": {"clone": "clone", "get_capability_interface": "getCapabilityInterface", "get_output_data_types": "getOutputDataTypes",
           "get_output_shapes": "getOutputShapes", "configure_plugin": "configurePlugin",
           "supports_format_combination": "supports none", "get_valid_tactics": "getNbTactics", "set_tactic": "setTactic",
           "get_fields_to_serialize": "getFieldsToSerialize", "get_workspace_size": None},
    "v2": {"clone": "clone", "get_output_datatype": "type", "get_output_dimensions": "output 0", "configure_plugin": None,
           "supports_format_combination": "supports none", "initialize": "initialize", "serialize": None,
           "get_workspace_size": None},
}


def outcome(function):
    """(result, exception that arrived) of a call; what went to sys.unraisablehook counts as arrived."""
    caught = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda info: caught.append(info.exc_value)
    try:
        return function(), caught[0] if caught else None
    except Oops as error:
        return None, error
    finally:
        sys.unraisablehook = hook


def test_exceptions_while_building():
    register()
    for kind, functions in NAMED.items():
        for name, text in functions.items():
            logger = Logger()
            Settings.raises = name
            plan, error = outcome(lambda make=PLUGINS[kind], log=logger: plan_with(log, make()))
            Settings.raises = None
            assert isinstance(error, Oops) and str(error) == name, (kind, name, error)
            assert plan is None or text is None, (kind, name)
            said = " ".join(logger.errors)
            if text:
                assert text in said, (kind, name, said)
                if name not in ("clone", "get_capability_interface"):
                    assert "the layer" in said or "(Unnamed" in said or "PLUGIN" in said.upper(), (kind, name, said)


def test_exceptions_while_running():
    register()
    for kind, name in (("v3", "create_plugin"), ("v3", "attach_to_context"), ("v3", "on_shape_change"), ("v3", "enqueue"),
                       ("v3", "set_tactic"), ("v2", "deserialize_plugin"), ("v2", "initialize"), ("v2", "clone"), ("v2", "enqueue")):
        plan = plan_with(trt.Logger(trt.Logger.ERROR), PLUGINS[kind]())
        logger = Logger()
        Settings.raises = name

        def work():
            engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
            return None if engine is None else run(engine)  # pylint: disable=cell-var-from-loop

        caught = []
        hook, sys.unraisablehook = sys.unraisablehook, lambda info: caught.append(info.exc_value)
        try:
            work()
        except Oops as error:
            caught.append(error)
        except Exception:  # pylint: disable=broad-except
            pass  # what the runner says of a call that failed
        finally:
            sys.unraisablehook, Settings.raises = hook, None
        assert any(isinstance(error, Oops) and str(error) == name for error in caught), (kind, name, caught, logger.errors)
        assert any("the layer" in text for text in logger.errors), (kind, name, logger.errors)


def test_wrong_answers_are_named():
    register()
    wrong = {"get_output_data_types": [[], 3, None, ["float"]], "get_output_shapes": [[], [None], [3], "ab"],
             "supports_format_combination": [None, "yes"], "get_valid_tactics": [[0], [1, 1], "a", 3], "get_workspace_size": ["much", -1],
             "clone": [None, 3], "get_capability_interface": [None, 3, trt.IPluginV3OneCore()], "set_tactic": ["x", 7],
             "get_fields_to_serialize": [3, [1], ["a"]], "configure_plugin": [9, "x"]}
    for name, answers in wrong.items():
        for answer in answers:
            logger = Logger()
            Settings.answers = {name: answer}
            caught = []
            hook, sys.unraisablehook = sys.unraisablehook, lambda info: caught.append(info.exc_value)
            try:
                plan = plan_with(logger, Shift(1))
            except (TypeError, ValueError, RuntimeError, AttributeError) as error:
                plan = None
                caught.append(error)
            finally:
                sys.unraisablehook = hook
                Settings.answers = {}
            assert plan is None and (caught or logger.errors) or name == "get_workspace_size" and caught, (name, answer, caught, logger.errors)


def test_expressions_do_not_outlive_their_question():
    kept = []

    class Keeper(Shift):
        def clone(self):
            return Keeper(self.amount)

        def get_output_shapes(self, inputs, shape_inputs, expr_builder):
            kept.extend([inputs[0][0], expr_builder])
            return [trt.DimsExprs(inputs[0])]

    plan_with(trt.Logger(trt.Logger.ERROR), Keeper(1))
    for use in (kept[0].is_constant, lambda: kept[1].constant(1)):
        try:
            use()
        except ValueError as error:
            assert "after the function" in str(error), error
        else:
            raise AssertionError("an expression that is gone can be used")


def test_a_class_that_lacks_a_function():
    class Bare(trt.IPluginV3):
        def __init__(self):
            trt.IPluginV3.__init__(self)

    network = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR)).create_network()
    x = network.add_input("x", trt.float32, (1,))
    try:
        network.add_plugin_v3([x], [], Bare())
    except TypeError as error:
        assert "Bare does not define clone()" in str(error), error
    else:
        raise AssertionError("a plugin without functions is taken")


def test_objects_go_with_what_used_them():
    register()
    for make in PLUGINS.values():
        plugin = make()
        builder, network = network_of(trt.Logger(trt.Logger.ERROR), plugin)
        layer = network.get_layer(0)
        assert type(layer.plugin) is type(plugin) and layer.plugin is not plugin and layer.plugin is layer.plugin
        plan = support.plan_of(trt, builder, network)
        gc.collect()
        assert len(ALIVE) == 2, "the program's and the network's"
        del plugin, layer, builder, network
        gc.collect()
        assert not ALIVE, list(ALIVE)
        engine = trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(plan)
        assert len(ALIVE) == 1
        assert np.array_equal(run(engine), X + np.float32(2.5))
        del engine
        gc.collect()
        assert not ALIVE, list(ALIVE)


def test_texts_are_serialized():
    """What serialize() returns may be a text, as programs return JSON; deserialize_plugin() takes bytes."""
    register()
    Settings.answers = {"serialize": "abcd"}
    plan = plan_with(trt.Logger(trt.Logger.ERROR), OldShift(2.5))
    Settings.answers = {}
    answer = run(trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(plan))
    assert np.array_equal(answer, X + np.frombuffer(b"abcd", np.float32)[0]), answer


def test_destroy_and_terminate_are_called():
    calls = []

    class Told(OldShift):
        def clone(self):
            return Told(self.amount)

        def initialize(self):
            calls.append("initialize")

        def terminate(self):
            calls.append("terminate")

        def destroy(self):
            calls.append("destroy")

    plan_with(trt.Logger(trt.Logger.ERROR), Told(1))
    gc.collect()
    assert calls.count("initialize") == calls.count("terminate") > 0 and calls.count("destroy") > calls.count("terminate"), calls


def test_two_hundred_builds_leave_nothing():
    register()
    logger = trt.Logger(trt.Logger.ERROR)

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    def builds(count):
        for place in range(count):
            engine = trt.Runtime(logger).deserialize_cuda_engine(plan_with(logger, list(PLUGINS.values())[place % 2]()))
            assert np.array_equal(run(engine), X + np.float32(2.5))

    builds(20)
    gc.collect()
    before = resident()
    builds(200)
    gc.collect()
    grown = resident() - before
    assert not ALIVE and grown < 4 << 20, f"{grown} bytes more after 200 builds"


def test_threads():
    register()
    plan = plan_with(trt.Logger(trt.Logger.ERROR), Shift(2.5))
    engine = trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(plan)
    wrong = []

    def work(number):
        runner = trt.Runner(engine)
        for step in range(20):
            x = X + number + step
            if not np.array_equal(runner(x=x)["y"], x + np.float32(2.5)):
                wrong.append((number, step))
            if step % 7 == 0 and plan_with(trt.Logger(trt.Logger.ERROR), OldShift(number)) is None:
                wrong.append("build")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_a_process_may_end_with_everything_alive():
    code = (f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import plugin_classes as plugins; plugins.register()\n"
            "import tensorrt as trt\n"
            "log = trt.Logger(trt.Logger.ERROR); plugin = plugins.Shift(1); old = plugins.OldShift(1)\n"
            "kept = plugins.network_of(log, plugin), plugins.network_of(log, old)\n"
            "engine = trt.Runtime(log).deserialize_cuda_engine(plugins.plan_with(log, plugin)); runner = trt.Runner(engine)\n"
            "runner(x=plugins.X); print('end')")
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.strip() == "end", (done.returncode, done.stdout, done.stderr)


def test_creators_live_in_the_registry():
    creator = ShiftCreator()
    gone = weakref.ref(creator)
    registry = trt.get_plugin_registry()
    assert registry.register_creator(creator) and registry.get_creator("Shift", "1") is creator
    del creator
    gc.collect()
    assert gone() is not None, "the registry keeps it"
    assert registry.deregister_creator(registry.get_creator("Shift", "1"))
    gc.collect()
    assert gone() is None


def test_deserializing_by_hand():
    """What a creator makes, called from Python as the library would call it."""
    creator = ShiftCreator()
    plugin = trt.IPluginCreatorV3One.create_plugin(
        creator, "name", trt.PluginFieldCollection([trt.PluginField("amount", np.float32(4), trt.PluginFieldType.FLOAT32)]),
        trt.TensorRTPhase.RUNTIME)
    assert isinstance(plugin, Shift) and plugin.amount == 4


if __name__ == "__main__":
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
