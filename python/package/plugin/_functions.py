# SPDX-License-Identifier: Apache-2.0
"""The decorators, and the functions of `op` that make plugins of what they decorated."""
import inspect
import types
import typing

from .. import tensorrt as trt
from ._attributes import Attribute
from ._plugin import CompiledPlugin, QuickPlugin
from ._tensors import Tensor, TensorDesc

_DEFINITIONS = {}
_RESERVED = ("outputs", "stream", "tactic")
_REQUEST = trt.QuickPluginCreationRequest


class Definition:
    """What is known of one plugin: how its outputs are described, and who computes them."""

    def __init__(self, plugin_id, describe):
        self.id = plugin_id
        self.space, _, self.name = plugin_id.partition("::")
        self.describe = describe
        self.inputs, self.attributes = _read_inputs(plugin_id, describe)
        self.outputs = _read_outputs(plugin_id, describe)
        self.impl = self.aot_impl = self.autotune = None
        self.creator = None

    def arguments_of(self, function):
        """The names of the attributes that a function wants, which must be the plugin's."""
        names = list(inspect.signature(function).parameters)
        if names[:len(self.inputs)] != self.inputs:
            raise ValueError(f"{self.id}: {function.__name__}() begins with {names[:len(self.inputs)]}; expected the inputs {self.inputs}")
        rest = [name for name in names[len(self.inputs):] if name not in _RESERVED]
        strange = [name for name in rest if name not in self.attributes]
        if strange:
            raise ValueError(f"{self.id}: {function.__name__}() takes {strange}, which are no attributes of the plugin; "
                             f"expected some of {list(self.attributes)}")
        if "outputs" not in names:
            raise ValueError(f"{self.id}: {function.__name__}() does not take 'outputs'")
        return rest

    def make(self, values, request):
        """A plugin that computes (impl) or that gives code (aot_impl): the one that is there, or that is asked for."""
        if self.impl is None and self.aot_impl is None:
            raise NotImplementedError(f"{self.id}: no impl is defined; define one with tensorrt.plugin.impl or tensorrt.plugin.aot_impl")
        for strict, there, name, aot in ((_REQUEST.STRICT_JIT, self.impl, "impl", "True"), (_REQUEST.STRICT_AOT, self.aot_impl, "aot_impl", "False")):
            if request == strict and there is None:
                raise ValueError(f"{self.id}: no {name} is defined; define one with tensorrt.plugin.{name}, or add the plugin with aot={aot}")
        preferred = (_REQUEST.STRICT_AOT, _REQUEST.PREFER_AOT)
        compiled = self.impl is None or self.aot_impl is not None and request in preferred
        return (CompiledPlugin if compiled else QuickPlugin)(self, values)

    def register(self):
        if self.creator is None:
            self.creator = QuickCreator(self)
            if not trt.get_plugin_registry().register_creator(self.creator, self.space):
                self.creator = None
                raise RuntimeError(f"{self.id}: the registry has a creator of this name and namespace already")

    def __call__(self, *inputs, **attributes):
        """What INetworkDefinition.add_plugin() takes."""
        if len(inputs) != len(self.inputs):
            raise TypeError(f"{self.id} takes the inputs {self.inputs}; got {len(inputs)} tensors")
        wrong = [place for place, tensor in enumerate(inputs) if not isinstance(tensor, trt.ITensor)]
        if wrong:
            raise TypeError(f"{self.id}: input {wrong[0]} is a {type(inputs[wrong[0]]).__name__}; expected an ITensor. Attributes "
                            "are given by name")
        strange = [name for name in attributes if name not in self.attributes]
        missing = [name for name, attribute in self.attributes.items() if name not in attributes and not attribute.has_default]
        if strange or missing:
            raise TypeError(f"{self.id}: " + "; ".join(
                f"{what} {names}" for what, names in (("unknown attributes", strange), ("missing attributes", missing)) if names))
        values = {name: attribute.checked(self.id, attributes[name]) if name in attributes else attribute.default
                  for name, attribute in self.attributes.items()}
        self.register()
        return Addition(self, list(inputs), values)


class Addition:
    """A plugin that add_plugin() shall put into a network; as a sequence: inputs, shape inputs, plugin."""

    def __init__(self, definition, inputs, values):
        self._definition, self._inputs, self._values = definition, inputs, values

    def __call__(self, request=_REQUEST.UNKNOWN):
        plugin = self._definition.make(self._values, request)
        descs = [TensorDesc([None] * max(len(tensor.shape), 0), tensor.dtype) for tensor in self._inputs]
        plugin.count = len(plugin.described(descs))
        return self._inputs, [], plugin

    def __iter__(self):
        return iter(self())


class QuickCreator(trt.IPluginCreatorV3Quick):
    """Makes the plugins of a definition, from the attributes of an ONNX node or of an engine."""

    def __init__(self, definition):
        trt.IPluginCreatorV3Quick.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = definition.name, "1", definition.space
        self.field_names = trt.PluginFieldCollection([attribute.field() for attribute in definition.attributes.values()])
        self.definition = definition

    def create_plugin(self, name, namespace, fc, phase, request):  # pylint: disable=unused-argument
        definition = self.definition
        given = {field.name: field for field in fc}
        values = {key: attribute.read(definition.id, given[key]) if key in given else attribute.default
                  for key, attribute in definition.attributes.items() if key in given or attribute.has_default}
        plugin = definition.make(values, request)
        # An engine holds what impl takes; code compiled ahead needs no plugin there.
        wanted = definition.attributes if phase == trt.TensorRTPhase.BUILD else definition.arguments_of(definition.impl)
        missing = [key for key in wanted if key not in values]
        if missing:
            raise ValueError(f"{definition.id}: missing attributes {missing}")
        plugin.count = definition.outputs
        return plugin


def _annotations(function):
    return typing.get_type_hints(function, include_extras=True)


def _read_inputs(plugin_id, describe):
    hints, inputs, attributes = _annotations(describe), [], {}
    for name, parameter in inspect.signature(describe).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ValueError(f"{plugin_id}: {describe.__name__}() takes *{name}; expected named inputs and attributes")
        if name in _RESERVED:
            raise ValueError(f"{plugin_id}: '{name}' cannot name an input or attribute")
        if name not in hints:
            raise ValueError(f"{plugin_id}: parameter '{name}' has no type; expected TensorDesc or the type of an attribute")
        if hints[name] is TensorDesc:
            if attributes:
                raise ValueError(f"{plugin_id}: input '{name}' follows attributes; expected inputs first")
            inputs.append(name)
        else:
            attributes[name] = Attribute(plugin_id, name, hints[name], parameter.default)
    if not inputs:
        raise ValueError(f"{plugin_id}: no input; expected at least one parameter of the type TensorDesc")
    return inputs, attributes


def _read_outputs(plugin_id, describe):
    """How many outputs the annotation tells of; a tuple of one type may have any number, and counts as one until asked."""
    result = _annotations(describe).get("return")
    if result is TensorDesc or isinstance(result, type) and issubclass(result, TensorDesc):
        return 1
    parts = [part for part in typing.get_args(result) if part is not Ellipsis]
    if typing.get_origin(result) is tuple and parts and all(isinstance(p, type) and issubclass(p, TensorDesc) for p in parts):
        return len(parts)
    raise ValueError(f"{plugin_id}: {describe.__name__}() is declared to return {result}; expected TensorDesc or Tuple[TensorDesc, ...]")


def _definition(plugin_id):
    if plugin_id not in _DEFINITIONS:
        raise ValueError(f"{plugin_id}: no such plugin; expected one that tensorrt.plugin.register named. Known: {sorted(_DEFINITIONS)}")
    return _DEFINITIONS[plugin_id]


def register(plugin_id, lazy_register=False):
    """Decorates the function that describes the outputs of a plugin "namespace::name" from its inputs and attributes.

    Inputs and outputs are TensorDesc; attributes follow: int, float, str, bool, bytes, or numpy.typing.NDArray of one axis. With
    lazy_register the registry learns of the plugin when it is first added to a network.
    """
    space, sign, name = plugin_id.partition("::")
    if not sign or not space.isidentifier() or not name.isidentifier():
        raise ValueError(f"'{plugin_id}' is no name of a plugin; expected 'namespace::name'")

    def mark(describe):
        if plugin_id in _DEFINITIONS:
            raise ValueError(f"{plugin_id} is registered already")
        definition = Definition(plugin_id, describe)
        if not lazy_register:
            definition.register()
        _DEFINITIONS[plugin_id] = definition
        return describe
    return mark


def _implementation(plugin_id, place, what, expected):
    definition = _definition(plugin_id)

    def mark(function):
        definition.arguments_of(function)
        for name, hint in _annotations(function).items():
            if name in definition.inputs and hint is not expected:
                raise ValueError(f"{plugin_id}: input '{name}' of {function.__name__}() is a {hint}; expected {expected.__name__}")
            if name in definition.attributes and hint != definition.attributes[name].annotation:
                raise ValueError(f"{plugin_id}: attribute '{name}' of {function.__name__}() is a {hint}; expected "
                                 f"{definition.attributes[name].annotation}")
        if getattr(definition, place) is not None:
            raise ValueError(f"{plugin_id} has {what} already")
        if place == "impl" and "stream" not in inspect.signature(function).parameters:
            raise ValueError(f"{plugin_id}: {function.__name__}() does not take 'stream'")
        setattr(definition, place, function)
        return function
    return mark


def impl(plugin_id):
    """Decorates the function that computes: inputs, attributes, outputs (a tuple), stream, and tactic where there are any."""
    return _implementation(plugin_id, "impl", "an impl", Tensor)


def aot_impl(plugin_id):
    """Decorates the function that gives compiled code and how it is launched.

    It takes inputs, attributes, outputs (a tuple), and tactic where there are any, and returns the name of the kernel, its code (PTX
    or a cubin), KernelLaunchParams, and SymIntExprs with further arguments. The kernel takes the addresses of the inputs, these
    arguments, and the addresses of the outputs. It runs on a GPU only.
    """
    return _implementation(plugin_id, "aot_impl", "an aot_impl", TensorDesc)


def autotune(plugin_id):
    """Decorates the function that lists types, layouts and tactics: a list of AutoTuneCombination."""
    return _implementation(plugin_id, "autotune", "an autotune", TensorDesc)


class _Space(types.ModuleType):
    """The plugins of one namespace."""

    def __getattr__(self, name):
        space = self.__name__.rpartition(".")[2]
        if f"{space}::{name}" not in _DEFINITIONS:
            raise AttributeError(f"no plugin {space}::{name}; expected one that tensorrt.plugin.register named")
        return _DEFINITIONS[f"{space}::{name}"]

    def __dir__(self):
        space = self.__name__.rpartition(".")[2]
        return sorted(definition.name for definition in _DEFINITIONS.values() if definition.space == space)


class _Op(types.ModuleType):
    """op.namespace.name(tensors, attributes by name): what INetworkDefinition.add_plugin() takes."""

    def __getattr__(self, space):
        if not any(definition.space == space for definition in _DEFINITIONS.values()):
            raise AttributeError(f"no plugin has the namespace '{space}'")
        return _Space(f"tensorrt.plugin.op.{space}")

    def __dir__(self):
        return sorted({definition.space for definition in _DEFINITIONS.values()})


op = _Op("tensorrt.plugin.op")
