// The tactic of plugins, the same in each backend that runs them: the candidates are what the plugin itself takes.
#pragma once

#include <algorithm>
#include <string>

#include "compile/tactics/tactic.h"
#include "core/error.h"
#include "ops/op/plugin.h"

namespace tenon::compile {

class PluginTactic final : public Tactic {
 public:
  // `runsCompiled`: the backend launches kernels that the user compiled.
  PluginTactic(std::string_view backend, std::string_view name, bool runsCompiled = false)
      : backend_(backend), name_(name), runsCompiled_(runsCompiled) {}
  std::string_view name() const override { return name_; }
  int version() const override { return 1; }

  Support supports(const Problem& problem) const override {
    const auto* plugin = problem.op.as<ops::Plugin>();
    if (plugin == nullptr) return no("it is no plugin");
    if (plugin->object == nullptr) return no("the plugin object is not part of this program");
    if (plugin->object->isCompiled() && !runsCompiled_) {
      return no(
          "plugin '{}' is a kernel that was compiled for a GPU (IPluginV3QuickAOTBuild, tensorrt.plugin.aot_impl), and "
          "this engine is for the processor; give it an implementation that runs there too (tensorrt.plugin.impl, "
          "aot=False)",
          plugin->type);
    }
    try {
      (void)choicesOf(problem);
      return yes();
    } catch (const Error& error) {
      return {error.what()};
    }
  }

  std::vector<Candidate> candidates(const Problem& problem) const override {
    std::vector<Candidate> result;
    for (const auto& choice : choicesOf(problem)) {
      auto candidate = rowMajor(name_, problem);
      if (choice.tactic != 0) candidate.variant = std::to_string(choice.tactic);
      candidate.inputs = choice.inputs;
      candidate.outputs = choice.outputs;
      result.push_back(std::move(candidate));
    }
    return result;
  }

  plan::KernelRecord build(const Problem& problem, const Candidate& candidate) const override {
    const auto& plugin = *problem.op.as<ops::Plugin>();
    const int32_t tactic = candidate.variant.empty() ? 0 : std::stoi(candidate.variant);
    const ops::PluginChoice choice{candidate.inputs, candidate.outputs, tactic};
    auto parameters = plugin.object->parameters(choice, types(problem.inputs), types(problem.outputs), problem.symbols);
    const char* kernel = plugin.object->isCompiled() ? "compiled_plugin" : "plugin";
    return {std::string(backend_), kernel, 1, problem.op.text(), std::move(parameters), -1};
  }

  std::vector<std::byte> nativeCode(const Problem& problem, const Candidate&,
                                    const plan::KernelRecord& record) const override {
    const auto& object = *problem.op.as<ops::Plugin>()->object;
    return object.isCompiled() ? object.code(record.params) : std::vector<std::byte>();
  }

  int rank(const Problem&, const Candidate&) const override { return 0; }

 private:
  static std::vector<DataType> types(const std::vector<TensorDesc>& operands) {
    std::vector<DataType> result;
    for (const auto& operand : operands) result.push_back(operand.dtype);
    return result;
  }
  static const std::vector<ops::PluginChoice>& choicesOf(const Problem& problem) {
    return problem.op.as<ops::Plugin>()->object->choices(types(problem.inputs), types(problem.outputs),
                                                         problem.symbols);
  }

  std::string_view backend_;
  std::string_view name_;
  bool runsCompiled_;
};

}  // namespace tenon::compile
