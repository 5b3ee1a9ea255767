// The build in order: passes, one program per profile (formats and tactics, steps, memory), the plan's facts.
#include "compile/builder.h"

#include <chrono>

#include "compile/assignment.h"
#include "compile/computes.h"
#include "compile/extents.h"
#include "compile/joins.h"
#include "compile/memory_monitor.h"
#include "compile/phase.h"
#include "compile/profiles.h"
#include "compile/ranges.h"
#include "compile/refine.h"
#include "compile/requirements.h"
#include "compile/schedule/kernel_needs.h"
#include "compile/schedule/steps.h"
#include "compile/stages.h"
#include "compile/tune/cold_weights.h"
#include "compile/tune/self_check.h"
#include "compile/tune/timing_cache.h"
#include "compile/types/choose.h"
#include "compile/unfused_taps.h"
#include "core/error.h"
#include "core/version.h"
#include "graph/phases.h"
#include "ops/op/plugin.h"
#include "ops/op/reformat.h"
#include "ops/within.h"
#include "passes/pipeline.h"
#include "runtime/branching.h"
#include "runtime/kept_memory.h"
#include "runtime/kernel.h"

namespace tenon::compile {
namespace {

runtime::Device& findDevice(const std::string& kind) {
  std::string known;
  for (auto* backend : runtime::backends()) {
    const auto reason = backend->unavailable();
    known += fmt::format("\n  {}: {}", backend->name(), reason.empty() ? "works" : reason);
    if (reason.empty() && backend->device().kind() == kind) return backend->device();
  }
  throw Unsupported("no backend for device '{}':{}", kind, known);
}

// What the passes may ask and assume of the device, at the opt shapes of a profile.
passes::Options passOptions(const BuildOptions& options, const runtime::Device& device, const SymbolValues& symbols) {
  return {options.refittable, options.log, device.kind(),
          [&device, symbols, excluded = options.excludedLibraries](const ops::Operator& op,
                                                                   std::span<const ops::TensorType> inputs) {
            return computes(device, op, inputs, symbols, excluded);
          }};
}

// Every symbol that an input's extent or content stands for, with the place it is read from.
std::vector<plan::Symbol> symbolsOf(const graph::Graph& graph) {
  std::vector<plan::Symbol> symbols;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const auto& type = graph.value(graph.inputs()[i]).type;
    const auto add = [&](const Extent& extent, bool contents, size_t index) {
      if (extent.isConstant()) return;
      std::set<std::string> names;
      extent.collectSymbols(names);
      symbols.push_back({*names.begin(), contents, static_cast<int32_t>(i), static_cast<int32_t>(index)});
    };
    for (size_t axis = 0; axis < type.shape.size(); ++axis) add(type.shape[axis], false, axis);
    if (type.contents) {
      for (size_t k = 0; k < type.contents->size(); ++k) add((*type.contents)[k], true, k);
    }
  }
  return symbols;
}

// Sizes that the device computes.
std::vector<plan::Size> sizesOf(const graph::Graph& graph) {
  std::vector<plan::Size> result;
  for (const auto id : graph::phasesOf(graph).sizes) {
    const auto& node = graph.node(id);
    const auto& size = graph::sizeOf(graph, id);
    result.push_back({size.symbol, node.origins.empty() ? node.name : node.origins[0], size.opt, size.upper});
  }
  return result;
}

std::vector<plan::Io> ioOf(const graph::Graph& graph) {
  std::vector<plan::Io> result;
  const auto add = [&](const graph::Value& value, std::string name, bool isInput) {
    plan::Io io;
    io.name = std::move(name);
    io.isInput = isInput;
    io.dtype = value.type.dtype;
    io.shape = value.type.shape;
    for (const auto& extent : value.type.shape) {
      // Symbols that were made up hold a dot, or are elements of a tensor; the user's names are the rest.
      std::set<std::string> names;
      extent.collectSymbols(names);
      const bool named = names.size() == 1 && extent == Extent::symbol(*names.begin()) &&
                         names.begin()->find('.') == std::string::npos && !names.begin()->ends_with(']');
      io.dimensionNames.push_back(named ? *names.begin() : std::string());
    }
    io.layout = value.constraints.layout();
    io.isShapeTensor = value.constraints.hostShape;
    result.push_back(std::move(io));
  };
  for (const auto id : graph.inputs()) add(graph.value(id), graph.value(id).name, true);
  for (size_t i = 0; i < graph.outputs().size(); ++i) add(graph.value(graph.outputs()[i]), graph.outputName(i), false);
  return result;
}

// The metadata of the layers that a step computes, in TensorRT's form: one behind the other, U+001E between them.
void addMetadata(plan::Program& program, const std::map<std::string, std::string>& byLayer) {
  for (auto& step : program.steps) {
    const std::string* last = nullptr;  // several layers of one ONNX node say the same
    for (const auto& origin : step.origins) {
      const auto found = byLayer.find(origin);
      if (found == byLayer.end() || (last != nullptr && found->second == *last)) continue;
      step.metadata += (last == nullptr ? "" : "\x1e") + found->second;
      last = &found->second;
    }
  }
}

// What the nodes take, for an editable timing cache. Reformats go with the choices around them.
void reportChoices(const graph::Graph& graph, const Assignment& assignment, const Placement& placement,
                   const SymbolValues& symbols, OptionSource& source, const BuildOptions& options) {
  if (!options.editableTimingCache) return;
  for (const auto id : graph.order()) {
    const auto& node = graph.node(id);
    if (assignment.isView[id] || placement.shared.contains(id) || node.op.as<ops::Reformat>() != nullptr) continue;
    source.report(node, makeProblem(graph, node, symbols, options), assignment.choice[id]);
  }
}

// Tells the selector of the build what the nodes take. Reformats go with the choices around them.
void reportTaken(const graph::Graph& graph, const Assignment& assignment, const ProfileSymbols& symbols,
                 const BuildOptions& options) {
  if (options.selector == nullptr) return;
  std::vector<Taken> taken;
  for (const auto id : graph.order()) {
    const auto& node = graph.node(id);
    if (assignment.isView[id] || node.op.as<ops::Reformat>() != nullptr) continue;
    const auto at = [&](const SymbolValues& values) { return makeProblem(graph, node, values, options); };
    const auto& choice = assignment.choice[id];
    taken.push_back({{node, at(symbols.min), at(symbols.opt), at(symbols.max)},
                     {choice.candidate, options.optimizationLevel > 0 ? choice.seconds : 0, choice.workspaceBytes}});
  }
  options.selector->report(taken);
}

// Each chosen candidate against its reference; InternalError names the first that differs.
void checkChoices(const graph::Graph& graph, const Assignment& assignment, const SymbolValues& symbols,
                  runtime::Device& device, Log& log) {
  std::set<std::string> checked;
  for (const auto id : graph.order()) {
    if (assignment.isView[id]) continue;
    const auto& node = graph.node(id);
    const bool isPlugin = node.op.as<ops::Plugin>() != nullptr;
    if (isPlugin || ops::holds<ops::Plugin>(node.op)) continue;  // there is no reference
    const auto& choice = assignment.choice[id];
    const auto problem = makeProblem(graph, node, symbols);
    const auto key = choice.candidate.text() + "|" + problem.text();
    const bool hasConstants =
        std::any_of(problem.inputs.begin(), problem.inputs.end(), [](const auto& x) { return x.constant != nullptr; });
    if (!hasConstants && !checked.insert(key).second) continue;
    const auto difference = selfCheck(device, problem, choice.candidate, choice.record, choice.nativeCode, log);
    if (!difference.empty())
      throw InternalError("self-check: node '{}' by {}: {}; the problem is {}", node.name, choice.candidate.text(),
                          difference, problem.text());
  }
  log.info("Self-check: the chosen tactics of {} nodes agree with the reference.", graph.order().size());
}

// A graph with a kernel for each node that takes every shape of a profile.
struct Chosen {
  graph::Graph graph;
  Assignment assignment;
  Placement placement;
  std::vector<KernelNeeds> needs;  // by node
};

// What the choice of kernels works with.
struct Chooser {
  OptionSource& source;
  TimingCache& cache;
  runtime::Device& device;
  Stages& stages;
  const Phase& whole;
  const BuildOptions& options;
};

// Kernels are measured at the opt shapes; what does not take the others is chosen again without them. `facts`: the plan
// without programs.
Chosen choose(const graph::Graph& graph, const plan::Plan& facts, size_t profile, const ProfileSymbols& symbols,
              const Chooser& by) {
  for (;;) {
    Chosen chosen{graph, {}, {}, {}};
    {
      const Phase phase(by.options.progress, "Tactic selection", &by.whole, static_cast<int>(graph.order().size()));
      by.source.watch(&phase);
      by.source.askSelector(&chosen.graph, &symbols);
      const auto running = by.stages.run("tactic selection in total");
      chosen.assignment = assign(chosen.graph, symbols.opt, by.source, by.options);
      by.source.askSelector(nullptr, nullptr);
      by.source.watch(nullptr);
    }
    const auto phases = graph::phasesOf(chosen.graph);
    graph::sortByPhases(chosen.graph, phases);
    chosen.placement = placeValues(chosen.graph, chosen.assignment, symbols, by.device.isHost());
    // Executions that wait for sizes of random data say little about others.
    if (phases.count == 1) {
      refine(chosen.graph, chosen.assignment, chosen.placement, symbols, facts, profile, by.device, by.source, by.cache,
             by.options);
    }
    const auto running = by.stages.run("shapes of the profile");
    chosen.needs = askKernels(chosen.graph, chosen.assignment, chosen.placement, symbols, *by.options.log);
    bool refused = false;
    bool isNew = false;
    std::string refusal;
    for (const auto id : chosen.graph.order()) {
      const auto& needs = chosen.needs[id];
      if (needs.refused.empty()) continue;
      refused = true;
      const auto& node = chosen.graph.node(id);
      const auto& candidate = chosen.assignment.choice[id].candidate;
      const auto reason = fmt::format("does not support the {} shapes of optimization profile {}: {}", needs.refused,
                                      profile, needs.refusal);
      if (refusal.empty()) refusal = fmt::format("node '{}': {} {}", node.name, candidate.text(), reason);
      // Nodes that are alike at the opt shapes share their candidates: the first of them leaves one out for all.
      isNew |= by.source.exclude(node, makeProblem(chosen.graph, node, symbols.opt, by.options), candidate, reason);
    }
    if (!refused) {
      chooseRanges(chosen.graph, chosen.assignment, chosen.placement, symbols, facts, profile, by.device, by.source,
                   by.options);
      return chosen;
    }
    if (!isNew) throw Unsupported("{}", refusal);
  }
}

}  // namespace

plan::Plan build(graph::Graph graph, const BuildOptions& given) {
  auto options = given;
  checkInternal(options.log != nullptr, "a build needs a logger");
  auto& log = *options.log;
  const auto start = std::chrono::steady_clock::now();
  auto& device = findDevice(options.device);
  auto profiles = options.profiles;
  if (profiles.empty()) profiles.emplace_back();
  std::vector<ProfileSymbols> bound;  // passes change neither inputs nor what computes shapes
  for (const auto& profile : profiles) bound.push_back(bindProfile(graph, profile));
  checkExtents(graph, bound);  // refused before any work
  passes::reportUnknownNames(log);

  const MemoryMonitor memory(options.monitorMemory, log);
  const runtime::KeepingMemory keeping(device);
  const Phase whole(options.progress, "Building Engine", nullptr, static_cast<int>(2 + profiles.size()));
  Stages stages;
  TimingCache own;
  TimingCache& cache = options.timingCache != nullptr ? *options.timingCache : own;
  OptionSource source(device, options, cache, stages);
  {
    const Phase phase(options.progress, "Graph optimization", &whole, 1);
    const auto running = stages.run("graph optimization");
    passes::run(graph, passOptions(options, device, bound[0].opt));
    if (!options.types.halves.empty() || !options.types.tensors.empty()) {
      source.watch(&phase);
      graph = inChosenTypes(graph, options, device, bound[0].opt, source);
      source.watch(nullptr);
      passes::run(graph, passOptions(options, device, bound[0].opt));  // casts join their neighbours
    }
    checkMemory(graph, bound, device);
    options.coldWeights = device.isHost() && weightsLeaveCaches(graph);
    phase.step(0);
  }
  memory.report("graph optimization");
  whole.step(0);

  plan::Plan plan;
  plan.name = graph.name();
  plan.tenonVersion = kVersion;
  plan.target.device = device.kind();
  plan.target.deviceName = device.name();
  plan.io = ioOf(graph);
  plan.symbols = symbolsOf(graph);
  plan.shapes = graph.shapes();
  plan.profiles = profiles;
  plan.profilingVerbosity = options.profilingVerbosity;
  plan.refittable = options.refittable;

  const int32_t mostStreams = dynamic_cast<runtime::Branching*>(&device) != nullptr ? options.auxStreams : 0;
  ConstantPool constants(plan);
  NativeCodePool native(plan);
  std::shared_ptr<const void> noted;  // what threads that make candidates ready read
  const Announcing announcing(source);
  {
    const Phase phase(options.progress, "Joining nodes", &whole, 1);
    source.watch(&phase);
    const auto running = stages.run("measured fusion in total");
    noted = joinNodes(graph, bound[0].opt, device, source, options);
    source.watch(nullptr);
    phase.step(0);
  }
  if (!options.unfusedDebug.empty()) tapUnfused(graph, options.unfusedDebug);
  plan.sizes = sizesOf(graph);
  memory.report("joining nodes");
  whole.step(1);
  for (size_t p = 0; p < profiles.size(); ++p) {
    const auto& symbols = bound[p];
    const auto chosen = choose(graph, plan, p, symbols, {source, cache, device, stages, whole, options});
    reportChoices(chosen.graph, chosen.assignment, chosen.placement, symbols.opt, source, options);
    reportTaken(chosen.graph, chosen.assignment, symbols, options);
    if (selfCheckWanted()) checkChoices(chosen.graph, chosen.assignment, symbols.opt, device, log);
    const auto running = stages.run("steps and memory");
    plan.programs.push_back(makeProgram(chosen.graph, chosen.assignment, chosen.placement, chosen.needs, symbols, plan,
                                        constants, native, mostStreams, log));
    addMetadata(plan.programs.back(), options.layerMetadata);
    memory.report(fmt::format("optimization profile {}", p));
    whole.step(static_cast<int>(2 + p));
  }
  plan.target.requirements = requirementsOf(plan);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  constexpr double kLong = 3;  // seconds after which anybody wants to know where they went
  log.info("Detected {} inputs and {} output network tensors.", graph.inputs().size(), graph.outputs().size());
  log.info("Tactics: {} timed, {} from the timing cache.", source.measured(), source.cached());
  log.write(seconds.count() >= kLong ? Severity::kInfo : Severity::kVerbose,
            fmt::format("Time by stage:{}", stages.table()).c_str());
  log.info("Engine generation completed in {:.3f} seconds.", seconds.count());
  return plan;
}

}  // namespace tenon::compile
