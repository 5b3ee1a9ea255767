// Kernels configured as a context would, before there is a plan.
#include "compile/schedule/kernel_needs.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/platform/threads.h"
#include "runtime/chosen.h"
#include "runtime/configure.h"

namespace tenon::compile {
namespace {

using graph::Node;
using graph::ValueId;

class Asker {
 public:
  Asker(const graph::Graph& graph, const Assignment& assignment, Log& log)
      : graph_(graph), assignment_(assignment), log_(log) {}

  const KernelNeeds& ask(graph::NodeId id, const ProfileSymbols& symbols) {
    const auto& node = graph_.node(id);
    const auto& option = assignment_.choice[id];
    const auto [known, isNew] = known_.try_emplace(keyOf(node, option.record));
    if (isNew) {
      // A static network has one set of shapes.
      std::vector<NamedExtents> at{{"opt", &symbols.opt}};
      if (symbols.max != symbols.opt) at.push_back({"max", &symbols.max});
      if (symbols.min != symbols.opt) at.push_back({"min", &symbols.min});
      known->second = configure(node, option, at);
    }
    return known->second;
  }

  // For one thread, so that plans do not depend on their number; contexts add what more of them need.
  KernelNeeds configure(const Node& node, const Option& option, std::span<const NamedExtents> at) const {
    auto& backend = runtime::backend(option.record.backend);
    const platform::SerialScope alone(backend.device().isHost());
    std::vector<TensorView> constants;
    for (const ValueId input : node.inputs) {
      const auto& value = graph_.value(input);
      constants.push_back(value.constant != nullptr ? value.constant->view() : TensorView{});
    }
    auto record = option.record;
    std::unique_ptr<runtime::Kernel> kernel;
    std::unique_ptr<runtime::KernelInstance> instance;
    const auto load = [&] {
      instance.reset();
      kernel = backend.load({record, constants, option.nativeCode, log_, true});
      instance = kernel->instantiate();
    };
    load();
    KernelNeeds needs;
    for (const auto& [which, values] : at) {
      try {
        configureAt(node, *values, *instance, needs);
      } catch (const OutOfMemory&) {
        throw;
      } catch (const InternalError&) {
        throw;
      } catch (const Error& error) {
        needs.refused = which;
        needs.refusal = error.what();
        return needs;
      }
      const auto* chosen = dynamic_cast<runtime::Chosen*>(instance.get());
      if (chosen == nullptr || values != at[0].values || chosen->implementation().empty()) continue;
      record.params = needs.implementation = chosen->implementation();
      if (at.size() > 1) load();  // that one is wanted at the other shapes too
    }
    return needs;
  }

 private:
  std::string keyOf(const Node& node, const plan::KernelRecord& record) const {
    auto key =
        fmt::format("{}\n{} {}\n{}\n{}\n", record.backend, record.name, record.version, record.op, record.params);
    for (const auto* values : {&node.inputs, &node.outputs}) {
      for (const ValueId id : *values) {
        const auto& value = graph_.value(id);
        key += fmt::format("{}{}{}{},", name(value.type.dtype), text(value.type.shape), name(assignment_.formats[id]),
                           value.constant != nullptr ? "c" : "");
      }
    }
    return key;
  }

  runtime::TensorShape shapeOf(ValueId id, const SymbolValues& values) const {
    const auto& type = graph_.value(id).type;
    return {type.dtype, evaluate(type.shape, values), assignment_.formats[id]};
  }

  void configureAt(const Node& node, const SymbolValues& values, runtime::KernelInstance& instance,
                   KernelNeeds& needs) const {
    std::vector<runtime::TensorShape> inputs;
    std::vector<runtime::TensorShape> outputs;
    for (const ValueId id : node.inputs) inputs.push_back(shapeOf(id, values));
    for (const ValueId id : node.outputs) outputs.push_back(shapeOf(id, values));
    const auto empty = [](const runtime::TensorShape& shape) { return shape.dims.count() == 0; };
    if (std::all_of(outputs.begin(), outputs.end(), empty)) return;  // nothing will run
    needs.workspaceBytes =
        std::max<uint64_t>(needs.workspaceBytes, runtime::configure(instance, {inputs, outputs, &values}));
  }

  const graph::Graph& graph_;
  const Assignment& assignment_;
  Log& log_;
  std::map<std::string, KernelNeeds> known_;
};

}  // namespace

std::vector<KernelNeeds> askKernels(const graph::Graph& graph, const Assignment& assignment, const Placement& placement,
                                    const ProfileSymbols& symbols, Log& log) {
  std::vector<KernelNeeds> result(graph.nodeCount());
  Asker asker(graph, assignment, log);
  for (const auto id : graph.order()) {
    if (!assignment.isView[id] && !placement.shared.contains(id)) result[id] = asker.ask(id, symbols);
  }
  return result;
}

KernelNeeds askKernel(const graph::Graph& graph, const Assignment& assignment, graph::NodeId id, const Option& option,
                      std::span<const NamedExtents> at, Log& log) {
  return Asker(graph, assignment, log).configure(graph.node(id), option, at);
}

}  // namespace tenon::compile
