# SPDX-License-Identifier: Apache-2.0
"""A plugin object of functions: what the library asks, in the words of the functions."""
import inspect

from .. import tensorrt as trt
from ._expressions import ShapeExpr, ShapeExprs, SymExprs
from ._launch import KernelLaunchParams
from ._tensors import Tensor, TensorDesc


def _listed(outputs):
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


class _Described:
    """What both kinds of plugins are asked while an engine is built."""

    bases = ()

    def __init__(self, definition, values):
        for base in self.bases:
            base.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace = definition.name, "1", definition.space
        self.definition, self.values = definition, values
        self.count = definition.outputs
        self.rows = []  # [(types and layouts of all operands, tactics)]
        self.configured = None
        self.alias_places = []  # per output, the input whose memory it shares; -1 for none
        self.tactic = 0

    def get_capability_interface(self, kind):  # pylint: disable=unused-argument
        return self

    def clone(self):
        other = type(self)(self.definition, self.values)
        other.count, other.rows, other.configured, other.tactic = self.count, self.rows, self.configured, self.tactic
        other.alias_places = self.alias_places
        return other

    def described(self, inputs):
        """The outputs for descriptions of the inputs."""
        outputs = _listed(self.definition.describe(*inputs, **self.values))
        for place, output in enumerate(outputs):
            if not isinstance(output, TensorDesc):
                raise TypeError(f"{self.definition.id}: output {place} is a {type(output).__name__}; expected a TensorDesc")
            if output.is_size_tensor:
                output._index = place  # pylint: disable=protected-access
        return outputs

    def get_num_outputs(self):
        return self.count

    def get_output_data_types(self, input_types, ranks):
        outputs = self.described([TensorDesc([None] * rank, dtype) for dtype, rank in zip(input_types, ranks)])
        for place, output in enumerate(outputs):
            if output.dtype is None:
                raise ValueError(f"{self.definition.id}: output {place} has no type")
        return [output.dtype for output in outputs]

    def get_aliased_input(self, output_index):
        return self.alias_places[output_index] if self.alias_places else -1

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):  # pylint: disable=unused-argument
        descs = [TensorDesc(ShapeExprs.from_tuple([ShapeExpr(extent, expr_builder) for extent in shape])) for shape in inputs]
        outputs = self.described(descs)
        # Of aliases the shape and the input are known here, where the inputs are there as objects.
        self.alias_places = [next((i for i, desc in enumerate(descs) if output.get_aliased() is desc), -1) for output in outputs]
        return [trt.DimsExprs([extent._in(expr_builder) for extent in output.shape_expr])  # pylint: disable=protected-access
                for output in outputs]

    def _call_with(self, function, inputs, **more):
        names = inspect.signature(function).parameters
        wanted = {name: self.values[name] for name in self.definition.attributes if name in names}
        return function(*inputs, **wanted, **{name: value for name, value in more.items() if name in names})

    def get_supported_format_combinations(self, in_out, num_inputs):
        self.rows = []
        if self.definition.autotune is None:
            self.rows = [([(operand.desc.type, trt.TensorFormat.LINEAR) for operand in in_out], [])]
        else:
            descs = [TensorDesc._described(operand) for operand in in_out]  # pylint: disable=protected-access
            found = self._call_with(self.definition.autotune, descs[:num_inputs], outputs=tuple(descs[num_inputs:]))
            for combination in _listed(found):
                self.rows += [(row, combination._tactics) for row in combination._rows(len(in_out))]  # pylint: disable=protected-access
        result = []
        for row, _ in self.rows:
            for operand, (kind, layout) in zip(in_out, row):
                desc = trt.PluginTensorDesc()
                desc.dims, desc.type, desc.format, desc.scale = operand.desc.dims, kind, layout, operand.desc.scale
                result.append(desc)
        return result

    def configure_plugin(self, inputs, outputs):
        self.configured = [(operand.desc.type, operand.desc.format) for operand in [*inputs, *outputs]]
        if not self.rows and self.definition.autotune is not None:
            self.get_supported_format_combinations([*inputs, *outputs], len(inputs))

    def get_valid_tactics(self):
        """Those of the combination that was configured, each once."""
        return list(dict.fromkeys(tactic for row, tactics in self.rows if row == self.configured for tactic in tactics))

    def set_tactic(self, tactic):
        self.tactic = tactic


class QuickPlugin(_Described, trt.IPluginV3, trt.IPluginV3QuickCore, trt.IPluginV3QuickBuild, trt.IPluginV3QuickRuntime):
    """One layer's plugin, or the one of an engine or a context, whose function computes."""

    bases = (trt.IPluginV3, trt.IPluginV3QuickCore, trt.IPluginV3QuickBuild, trt.IPluginV3QuickRuntime)

    def get_fields_to_serialize(self):
        kept = self.definition.arguments_of(self.definition.impl)
        return trt.PluginFieldCollection([self.definition.attributes[name].field(self.values[name]) for name in kept])

    def enqueue(self, input_desc, output_desc, inputs, outputs, in_strides, out_strides, stream):
        def tensors(descs, addresses, strides):
            return [Tensor._described(*row, stream) for row in zip(descs, addresses, strides)]  # pylint: disable=protected-access

        self._call_with(self.definition.impl, tensors(input_desc, inputs, in_strides),
                        outputs=tuple(tensors(output_desc, outputs, out_strides)), stream=stream, tactic=self.tactic)


class CompiledPlugin(_Described, trt.IPluginV3, trt.IPluginV3QuickCore, trt.IPluginV3QuickAOTBuild):
    """One layer's plugin whose function gives compiled code. The engine keeps the code, and needs no plugin."""

    bases = (trt.IPluginV3, trt.IPluginV3QuickCore, trt.IPluginV3QuickAOTBuild)

    def __init__(self, definition, values):
        super().__init__(definition, values)
        self.kernel = None  # (types and layouts of all operands, name, code)

    def get_launch_params(self, inputs, in_out, num_inputs, launch_params, extra_args, expr_builder):
        def filled(desc, operand):
            desc._take(operand)  # pylint: disable=protected-access
            return desc

        given = [TensorDesc(ShapeExprs.from_tuple([ShapeExpr(extent, expr_builder) for extent in shape])) for shape in inputs]
        given = [filled(desc, operand) for desc, operand in zip(given, in_out)]
        outputs = tuple(filled(desc, operand) for desc, operand in zip(self.described(given), in_out[num_inputs:]))
        name, code, launch, extra = self._answer(self._call_with(self.definition.aot_impl, given, outputs=outputs, tactic=self.tactic))
        launch._write(launch_params, expr_builder)  # pylint: disable=protected-access
        extra_args.nbSymExprs = len(extra)
        for place, number in enumerate(extra):
            extra_args[place] = number._symbol(expr_builder)  # pylint: disable=protected-access
        self.kernel = ([(operand.desc.type, operand.desc.format) for operand in in_out], name, code)

    def _answer(self, answer):
        """Name, code, launch and extra arguments, as the function shall return them."""
        kinds = ((str, bytes), (str, bytes), KernelLaunchParams, SymExprs)
        expected = "expected (name, PTX or cubin, KernelLaunchParams, SymIntExprs)"
        if not isinstance(answer, (tuple, list)) or len(answer) != len(kinds):
            raise TypeError(f"{self.definition.id}: {self.definition.aot_impl.__name__}() returned {type(answer).__name__}; {expected}")
        for place, (part, kind) in enumerate(zip(answer, kinds)):
            if not isinstance(part, kind):
                raise TypeError(f"{self.definition.id}: item {place} of what {self.definition.aot_impl.__name__}() returned is a "
                                f"{type(part).__name__}; {expected}")
        name, code, launch, extra = answer
        return (name.decode() if isinstance(name, bytes) else name, code.encode() if isinstance(code, str) else code, launch, extra)

    def get_kernel(self, inputs, outputs):
        wanted = [(desc.type, desc.format) for desc in [*inputs, *outputs]]
        if self.kernel is None or self.kernel[0] != wanted:
            raise RuntimeError(f"{self.definition.id}: the kernel is asked for before its launch")
        return self.kernel[1:]
