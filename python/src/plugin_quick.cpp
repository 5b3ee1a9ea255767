// SPDX-License-Identifier: Apache-2.0
// The capabilities of plugins that are functions in Python; package/plugin makes them from the functions.
#include "plugins.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;

template <class Base>
class PythonQuickBuild : public Base {
 public:
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  int32_t getNbOutputs() const noexcept override {
    return fromLibrary("IPluginV3QuickBuild.get_num_outputs", kFailed,
                       [&] { return definedIn(base(), "get_num_outputs")().template cast<int32_t>(); });
  }
  int32_t getOutputDataTypes(DataType* types, int32_t outputs, const DataType* inputTypes, const int32_t* ranks,
                             int32_t inputs) const noexcept override {
    return fromLibrary("IPluginV3QuickBuild.get_output_data_types", kFailed, [&] {
      const auto answer = definedIn(base(), "get_output_data_types")(listOf(inputTypes, inputs), listOf(ranks, inputs));
      for (const py::object& type : itemsOf(answer, outputs, "get_output_data_types")) *types++ = type.cast<DataType>();
      return 0;
    });
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t inputs, const DimsExprs* shapes, int32_t shapeInputs,
                          DimsExprs* out, int32_t outputs, IExprBuilder& builder) noexcept override {
    return fromLibrary("IPluginV3QuickBuild.get_output_shapes", kFailed, [&] {
      const ExprScope scope(builder);
      const auto answer = definedIn(base(), "get_output_shapes")(scope.shapes(in, inputs),
                                                                 scope.shapes(shapes, shapeInputs), scope.builder());
      for (const py::object& shape : itemsOf(answer, outputs, "get_output_shapes")) *out++ = nativeShape(shape);
      return 0;
    });
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t inputs, const DynamicPluginTensorDesc* out,
                          int32_t outputs) noexcept override {
    return fromLibrary("IPluginV3QuickBuild.configure_plugin", kFailed, [&] {
      return statusOf(definedIn(base(), "configure_plugin")(listOf(in, inputs), listOf(out, outputs)));
    });
  }
  // The combinations one after the other, each with all operands.
  int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc* operands, int32_t inputs,
                                           int32_t outputs) noexcept override {
    return fromLibrary("IPluginV3QuickBuild.get_supported_format_combinations", kFailed, [&] {
      const auto answer =
          definedIn(base(), "get_supported_format_combinations")(listOf(operands, inputs + outputs), inputs);
      combinations_ = answer.template cast<std::vector<PluginTensorDesc>>();
      const auto width = static_cast<size_t>(std::max(inputs + outputs, 1));
      if (combinations_.size() % width != 0) {
        throw py::value_error("get_supported_format_combinations() returned " + std::to_string(combinations_.size()) +
                              " descriptions; expected a multiple of the " + std::to_string(width) + " operands");
      }
      return static_cast<int32_t>(combinations_.size() / width);
    });
  }
  int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* operands, int32_t inputs, int32_t outputs,
                                         PluginTensorDesc* combinations, int32_t count) noexcept override {
    const auto wanted = static_cast<size_t>(count) * static_cast<size_t>(inputs + outputs);
    if (wanted != combinations_.size()) getNbSupportedFormatCombinations(operands, inputs, outputs);
    if (wanted != combinations_.size()) return kFailed;
    std::copy(combinations_.begin(), combinations_.end(), combinations);
    return 0;
  }
  int32_t getAliasedInput(int32_t output) noexcept override {
    return fromLibrary("IPluginV3QuickBuild.get_aliased_input", -1, [&] {
      const py::function found = py::get_override(base(), "get_aliased_input");
      return found ? found(output).template cast<int32_t>() : -1;
    });
  }
  int32_t getNbTactics() noexcept override {
    return fromLibrary("IPluginV3QuickBuild.get_valid_tactics", kFailed, [&] {
      const py::function found = py::get_override(base(), "get_valid_tactics");
      tactics_ = found ? found().template cast<std::vector<int32_t>>() : std::vector<int32_t>();
      return static_cast<int32_t>(tactics_.size());
    });
  }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    if (static_cast<size_t>(count) != tactics_.size()) getNbTactics();
    if (static_cast<size_t>(count) != tactics_.size()) return kFailed;
    std::copy(tactics_.begin(), tactics_.end(), tactics);
    return 0;
  }
  const char* getTimingCacheID() noexcept override { return text("get_timing_cache_id", timing_); }
  const char* getMetadataString() noexcept override { return text("get_metadata_string", metadata_); }

 protected:
  const Base* base() const { return this; }

 private:
  const char* text(const char* name, std::string& kept) const noexcept {
    return fromLibrary<const char*>(name, nullptr, [&]() -> const char* {
      const py::function found = py::get_override(base(), name);
      const py::object answer = found ? py::object(found()) : py::none();
      if (answer.is_none()) return nullptr;
      kept = answer.cast<std::string>();  // lives until the next question
      return kept.c_str();
    });
  }
  std::vector<PluginTensorDesc> combinations_;
  std::vector<int32_t> tactics_;
  std::string timing_, metadata_;
};

class PythonQuickAot : public PythonQuickBuild<IPluginV3QuickAOTBuild> {
 public:
  int32_t getLaunchParams(const DimsExprs* in, const DynamicPluginTensorDesc* operands, int32_t inputs, int32_t outputs,
                          IKernelLaunchParams* launch, ISymExprs* extra, IExprBuilder& builder) noexcept override {
    return fromLibrary("IPluginV3QuickAOTBuild.get_launch_params", kFailed, [&] {
      constexpr auto kReference = py::return_value_policy::reference;
      const ExprScope scope(builder);
      return statusOf(definedIn(base(), "get_launch_params")(
          scope.shapes(in, inputs), listOf(operands, inputs + outputs), inputs, py::cast(launch, kReference),
          py::cast(extra, kReference), scope.builder()));
    });
  }
  int32_t getKernel(const PluginTensorDesc* in, int32_t inputs, const PluginTensorDesc* out, int32_t outputs,
                    const char** name, char** code, int32_t* size) noexcept override {
    return fromLibrary("IPluginV3QuickAOTBuild.get_kernel", kFailed, [&] {
      const auto answer = definedIn(base(), "get_kernel")(listOf(in, inputs), listOf(out, outputs));
      const auto parts = itemsOf(answer, 2, "get_kernel");
      name_ = parts[0].cast<std::string>();
      code_ = parts[1].cast<std::string>();  // of bytes or of a text
      *name = name_.c_str();
      *code = code_.data();
      *size = static_cast<int32_t>(code_.size());
      return 0;
    });
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    return fromLibrary("IPluginV3QuickAOTBuild.set_tactic", kFailed, [&] {
      const py::function found = py::get_override(base(), "set_tactic");
      return found ? statusOf(found(tactic)) : 0;
    });
  }

 private:
  std::string name_, code_;
};

class PythonQuickRuntime : public IPluginV3QuickRuntime {
 public:
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  int32_t setTactic(int32_t tactic) noexcept override {
    return fromLibrary("IPluginV3QuickRuntime.set_tactic", kFailed, [&] {
      const py::function found = py::get_override(base(), "set_tactic");
      return found ? statusOf(found(tactic)) : 0;
    });
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, const Dims* inputStrides, const Dims* outputStrides, int32_t inputCount,
                  int32_t outputCount, cudaStream_t stream) noexcept override {
    return fromLibrary("IPluginV3QuickRuntime.enqueue", kFailed, [&] {
      return statusOf(definedIn(base(), "enqueue")(
          listOf(in, inputCount), listOf(out, outputCount), addressesOf(inputs, static_cast<size_t>(inputCount)),
          addressesOf(outputs, static_cast<size_t>(outputCount)), listOf(inputStrides, inputCount),
          listOf(outputStrides, outputCount), numberOf(stream)));
    });
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    return fromLibrary<const PluginFieldCollection*>("IPluginV3QuickRuntime.get_fields_to_serialize", nullptr, [&] {
      fields_.set(fieldsFrom(definedIn(base(), "get_fields_to_serialize")()));
      return fields_.native();
    });
  }

 private:
  const IPluginV3QuickRuntime* base() const { return this; }
  FieldList fields_;
};

// A number in the arguments of a kernel: an expression with a width.
class PythonSymExpr : public ISymExpr {
 public:
  PluginArgType getType() const noexcept override { return type; }
  PluginArgDataType getDataType() const noexcept override { return dtype; }
  void* getExpr() noexcept override {
    return fromLibrary<void*>("ISymExpr.expr", nullptr,
                              [&]() -> void* { return const_cast<IDimensionExpr*>(&expression.get()); });
  }
  PluginArgType type = PluginArgType::kINT;
  PluginArgDataType dtype = PluginArgDataType::kINT32;
  Expr expression;
};

using LaunchClass = py::class_<IKernelLaunchParams, Lent<IKernelLaunchParams>>;

template <ISymExpr* (IKernelLaunchParams::*get)() noexcept, bool (IKernelLaunchParams::*set)(ISymExpr*) noexcept>
void defineExtent(LaunchClass& type, const char* name) {
  type.def_property(
      name,
      py::cpp_function([](IKernelLaunchParams& self) { return (self.*get)(); }, py::return_value_policy::reference),
      py::cpp_function(
          [name](IKernelLaunchParams& self, ISymExpr& value) {
            if (!(self.*set)(&value)) throw py::value_error(std::string(name) + " was refused");
          },
          py::keep_alive<1, 2>()));
}

void declareLaunches(py::module_& module) {
  py::class_<ISymExpr, PythonSymExpr>(module, "ISymExpr")
      .def(py::init([] { return new PythonSymExpr; }))
      .def_property("type", &ISymExpr::getType,
                    [](ISymExpr& self, PluginArgType type) { dynamic_cast<PythonSymExpr&>(self).type = type; })
      .def_property("dtype", &ISymExpr::getDataType,
                    [](ISymExpr& self, PluginArgDataType dtype) { dynamic_cast<PythonSymExpr&>(self).dtype = dtype; })
      .def_property(
          "expr", [](ISymExpr& self) { return dynamic_cast<PythonSymExpr&>(self).expression; },
          [](ISymExpr& self, const Expr& expr) { dynamic_cast<PythonSymExpr&>(self).expression = expr; });
  LaunchClass launch(module, "KernelLaunchParams");
  using P = IKernelLaunchParams;
  defineExtent<&P::getGridX, &P::setGridX>(launch, "grid_x");
  defineExtent<&P::getGridY, &P::setGridY>(launch, "grid_y");
  defineExtent<&P::getGridZ, &P::setGridZ>(launch, "grid_z");
  defineExtent<&P::getBlockX, &P::setBlockX>(launch, "block_x");
  defineExtent<&P::getBlockY, &P::setBlockY>(launch, "block_y");
  defineExtent<&P::getBlockZ, &P::setBlockZ>(launch, "block_z");
  defineExtent<&P::getSharedMem, &P::setSharedMem>(launch, "shared_mem");
  py::class_<ISymExprs, Lent<ISymExprs>>(module, "ISymExprs")
      .def_property("nbSymExprs", &ISymExprs::getNbSymExprs, &ISymExprs::setNbSymExprs)
      .def("__len__", &ISymExprs::getNbSymExprs)
      .def("__getitem__", &ISymExprs::getSymExpr, py::return_value_policy::reference)
      .def("__setitem__", &ISymExprs::setSymExpr, py::keep_alive<1, 3>());
}

template <class T, class Trampoline, class Base>
void declareCapability(py::module_& module, const char* name) {
  py::class_<T, Base, Kept<T>, Trampoline>(module, name).def(py::init<>()).def(py::init([](const T&) {
    return new Trampoline;
  }));
}

}  // namespace

void declarePluginQuick(py::module_& module) {
  declareCore<IPluginV3QuickCore, PythonCore<IPluginV3QuickCore>>(module, "IPluginV3QuickCore");
  declareCapability<IPluginV3QuickBuild, PythonQuickBuild<IPluginV3QuickBuild>, IPluginCapability>(
      module, "IPluginV3QuickBuild");
  declareCapability<IPluginV3QuickAOTBuild, PythonQuickAot, IPluginV3QuickBuild>(module, "IPluginV3QuickAOTBuild");
  declareCapability<IPluginV3QuickRuntime, PythonQuickRuntime, IPluginCapability>(module, "IPluginV3QuickRuntime");
  declareLaunches(module);
}

}  // namespace tenon::python
