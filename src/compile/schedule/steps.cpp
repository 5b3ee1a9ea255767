// Steps in the graph's order.
#include "compile/schedule/steps.h"

#include <algorithm>
#include <set>

#include "compile/proposals.h"
#include "compile/schedule/lifetimes.h"
#include "compile/schedule/streams.h"
#include "core/error.h"
#include "core/storage.h"
#include "graph/phases.h"
#include "runtime/kernel.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using plan::Storage;

class Scheduler {
 public:
  Scheduler(const Graph& graph, const Assignment& assignment, const Placement& placement,
            std::span<const KernelNeeds> needs, const ProfileSymbols& symbols, const plan::Plan& plan,
            ConstantPool& constants, NativeCodePool& native, int32_t mostStreams, Log& log)
      : graph_(graph),
        phases_(graph::phasesOf(graph)),
        assignment_(assignment),
        placement_(placement),
        needs_(needs),
        symbols_(symbols),
        plan_(plan),
        constants_(constants),
        native_(native),
        mostStreams_(mostStreams),
        log_(log) {}

  plan::Program run() {
    findDevice();
    computeConstants();
    makeTensors();
    makeSteps();
    noteLifetimes(program_);
    keepSizes();
    shareInPlace(graph_, assignment_, step_, tensor_, program_);
    workspaceUntil_ = spreadOverStreams(program_, phases_.count == 1 ? mostStreams_ : 0);
    layOut(program_, workspaceUntil_, log_);
    return std::move(program_);
  }
  const std::vector<int32_t>& steps() const { return step_; }

 private:
  void findDevice() {
    for (const NodeId id : graph_.order()) {
      if (!assignment_.isView[id]) onHost_ = runtime::backend(assignment_.choice[id].record.backend).device().isHost();
    }
  }

  // Folded weights are computed when they are first looked at: all of them now, side by side.
  void computeConstants() {
    constexpr uint64_t kWorthThreads = 1 << 22;  // bytes
    std::set<const graph::Constant*> constants;
    uint64_t bytes = 0;
    for (const NodeId id : graph_.order()) {
      for (const ValueId input : graph_.node(id).inputs) {
        const auto* constant = graph_.value(input).constant.get();
        if (constant != nullptr && constants.insert(constant).second) bytes += constant->bytes();
      }
    }
    if (bytes < kWorthThreads) return;
    const std::vector<const graph::Constant*> all(constants.begin(), constants.end());
    inParallel(all.size(), [&](size_t i) { (void)all[i]->view(); });
  }

  uint64_t upperBytes(ValueId id) const {
    const auto& type = graph_.value(id).type;
    const auto bounds = storedCount(type.shape, assignment_.formats[id]).bounds(symbols_.bounds);
    constexpr int64_t kMost = int64_t{1} << 46;
    checkUser(bounds.high <= kMost, "tensor '{}' {} may have {} elements, which exceed the address space",
              graph_.value(id).name, text(type.shape), bounds.high);
    return bytesOf(type.dtype, std::max<int64_t>(bounds.high, 0));
  }

  bool livesOnHost(ValueId id) const { return !onHost_ && graph_.value(id).constraints.hostShape; }

  int32_t addTensor(ValueId id, Storage storage, int32_t index) {
    const auto& value = graph_.value(id);
    plan::TensorRecord tensor;
    tensor.name = value.name;
    tensor.dtype = value.type.dtype;
    tensor.shape = value.type.shape;
    tensor.layout = assignment_.formats[id];
    tensor.storage = storage;
    tensor.index = index;
    tensor.bytes = upperBytes(id);
    tensor.debug = value.constraints.debug;
    program_.tensors.push_back(std::move(tensor));
    return static_cast<int32_t>(program_.tensors.size() - 1);
  }

  int32_t addView(ValueId id, int32_t of, const Place& place) {
    const int32_t view = addTensor(id, Storage::kView, of);
    program_.tensors.back().viewOffset = place.offset;
    program_.tensors.back().pitch = place.pitch;
    return view;
  }

  void makeTensors() {
    tensor_.assign(graph_.valueCount(), -1);
    program_.ioTensors.assign(plan_.io.size(), -1);
    const auto uses = graph_.allUses();
    const auto inputCount = static_cast<int32_t>(graph_.inputs().size());
    for (int32_t i = 0; i < inputCount; ++i) {
      const ValueId id = graph_.inputs()[static_cast<size_t>(i)];
      tensor_[id] = addTensor(id, Storage::kInput, i);
      program_.ioTensors[static_cast<size_t>(i)] = tensor_[id];
      if (!livesOnHost(id)) continue;
      program_.tensors[static_cast<size_t>(tensor_[id])].onHost = true;
      if (uses[id].empty() && !graph_.isOutput(id)) continue;
      // The user's shape tensors lie in host memory; kernels read a copy.
      const int32_t copy = addTensor(id, Storage::kArena, -1);
      uploads_.emplace_back(tensor_[id], copy);
      tensor_[id] = copy;
    }
    // Memory with a network output is that of the first one; other outputs are copied.
    std::map<ValueId, int32_t> outputOfRoot;
    std::map<ValueId, ValueId> ownerOfRoot;  // the output itself, of which all others of the group are views
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const ValueId root = placement_.places[graph_.outputs()[i]].owner;
      if (graph_.value(root).producer == graph::kNone || livesOnHost(graph_.outputs()[i])) continue;
      if (phaseOf(root) < phaseOf(graph_.outputs()[i])) continue;  // it has its address too late
      outputOfRoot.emplace(root, inputCount + static_cast<int32_t>(i));
      ownerOfRoot.emplace(root, graph_.outputs()[i]);
    }
    const auto ensure = [&](ValueId id) {
      if (tensor_[id] >= 0) return;
      const ValueId root = placement_.places[id].owner;
      const auto output = outputOfRoot.find(root);
      const ValueId owner = output != outputOfRoot.end() ? ownerOfRoot.at(root) : root;
      if (tensor_[owner] < 0) {
        const auto& value = graph_.value(owner);
        if (output != outputOfRoot.end()) {
          tensor_[owner] = addTensor(owner, Storage::kOutput, output->second);
        } else if (value.constant != nullptr) {
          tensor_[owner] = addTensor(owner, Storage::kConstant, constants_.add(value.constant));
        } else {
          tensor_[owner] = addTensor(owner, Storage::kArena, -1);
        }
      }
      if (id != owner) tensor_[id] = addView(id, tensor_[owner], placement_.places[id]);
    };
    for (const NodeId id : graph_.order()) {
      for (const ValueId input : graph_.node(id).inputs) ensure(input);
      for (const ValueId output : graph_.node(id).outputs) ensure(output);
    }
    for (const ValueId output : graph_.outputs()) ensure(output);
    copies_.clear();
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const ValueId id = graph_.outputs()[i];
      const auto io = inputCount + static_cast<int32_t>(i);
      const auto& tensor = program_.tensors[static_cast<size_t>(tensor_[id])];
      if (tensor.storage == Storage::kOutput && tensor.index == io) {
        program_.ioTensors[static_cast<size_t>(io)] = tensor_[id];
        continue;
      }
      const int32_t copy = addTensor(id, Storage::kOutput, io);
      program_.tensors[static_cast<size_t>(copy)].name = graph_.outputName(i);
      program_.tensors[static_cast<size_t>(copy)].onHost = livesOnHost(id);
      program_.ioTensors[static_cast<size_t>(io)] = copy;
      copies_.emplace_back(tensor_[id], copy);
    }
  }

  // Of the node that computes a value.
  int32_t phaseOf(ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    return producer == graph::kNone ? 0 : phases_.ofNode[producer];
  }

  static plan::Step copyStep(int32_t from, int32_t to, std::string name) {
    plan::Step step;
    step.kind = plan::StepKind::kCopy;
    step.name = std::move(name);
    step.layerType = "copy";
    step.tactic = "copy";
    step.inputs = {from};
    step.outputs = {to};
    return step;
  }

  // All but the inputs and the workspace.
  plan::Step launchStep(NodeId id) {
    const auto& node = graph_.node(id);
    const auto& choice = assignment_.choice[id];
    plan::Step step;
    step.kernel = choice.record;
    if (!choice.nativeCode.empty()) step.kernel.nativeCode = native_.add(choice.nativeCode);
    step.name = node.name;
    step.origins = node.origins;
    step.layerType = node.op.name();
    step.tactic = choice.candidate.kernelName();
    step.tacticValue = choice.candidate.hash();
    for (const ValueId output : node.outputs) step.outputs.push_back(tensor_[output]);
    return step;
  }

  // A slice or concatenation whose result stands where it belongs, but for the parts that are copied there: by its own
  // kernel, as a concatenation of one, where that writes rows of any pitch or a constant has another format.
  void addShared(NodeId id, const std::vector<CopiedPart>& copied) {
    const auto& node = graph_.node(id);
    const auto launch = launchStep(id);  // once: its hash is made of all operands
    auto view = launch;
    view.kind = plan::StepKind::kView;
    view.kernel = {};
    view.tactic = "view";
    view.tacticValue = 0;
    for (const ValueId input : node.inputs) view.inputs.push_back(tensor_[input]);
    for (const auto& [input, place] : copied) {
      const ValueId part = node.inputs[input];
      const auto& whole = program_.tensors[static_cast<size_t>(tensor_[place.owner])];
      const int32_t to = addView(part, whole.storage == Storage::kView ? whole.index : tensor_[place.owner], place);
      const Layout format = assignment_.formats[node.outputs[0]];
      program_.tensors.back().debug = false;
      program_.tensors.back().layout = format;
      const bool bytes = assignment_.formats[part] == format && assignment_.choice[id].candidate.pitchedOutputs == 0;
      auto step = bytes ? copyStep(tensor_[part], to, {}) : launch;
      step.name = fmt::format("{} (part {})", node.name, input);
      step.origins = node.origins;
      step.inputs = {tensor_[part]};
      step.outputs = {view.inputs[input] = to};
      program_.steps.push_back(std::move(step));
    }
    program_.steps.push_back(std::move(view));
  }

  // A view that is there for its effect: its tensor is shown under the node's name, whatever else has that memory.
  void addShown(NodeId id) {
    const auto& node = graph_.node(id);
    auto step = launchStep(id);
    step.kind = plan::StepKind::kView;
    step.kernel = {};
    step.name = fmt::format("Debug tensor '{}'", node.name);
    step.inputs = {tensor_[node.inputs[0]]};
    program_.tensors[static_cast<size_t>(step.outputs[0])].name = node.name;
    program_.steps.push_back(std::move(step));
  }

  void makeSteps() {
    step_.assign(graph_.nodeCount(), -1);
    for (const auto& [from, to] : uploads_) {
      program_.steps.push_back(copyStep(
          from, to, fmt::format("Copy of shape tensor '{}'", program_.tensors[static_cast<size_t>(from)].name)));
    }
    auto node = graph_.order().begin();
    for (int32_t phase = 0; phase < phases_.count; ++phase) {
      if (phase != 0) program_.cuts.push_back(static_cast<int32_t>(program_.steps.size()));
      for (; node != graph_.order().end() && phases_.ofNode[*node] == phase; ++node) addNode(*node);
      for (const auto& [from, to] : copies_) {
        const auto io = static_cast<size_t>(program_.tensors[static_cast<size_t>(to)].index);
        if (phaseOf(graph_.outputs()[io - graph_.inputs().size()]) != phase) continue;
        program_.steps.push_back(
            copyStep(from, to, fmt::format("Copy to output '{}'", program_.tensors[static_cast<size_t>(to)].name)));
      }
      addSizes(phase);
    }
    checkInternal(node == graph_.order().end(), "the nodes are not in the order of their phases");
  }

  void addNode(NodeId id) {
    if (assignment_.isView[id]) {
      const auto& op = graph_.node(id).op;
      if (op.facts().sideEffects && op.as<ops::Size>() == nullptr) addShown(id);
      return;
    }
    if (const auto shared = placement_.shared.find(id); shared != placement_.shared.end())
      return addShared(id, shared->second);
    auto step = launchStep(id);
    for (const ValueId input : graph_.node(id).inputs) step.inputs.push_back(tensor_[input]);
    const auto& needs = needs_[id];
    step.workspaceBytes = needs.workspaceBytes;
    if (!needs.implementation.empty()) step.kernel.params = needs.implementation;
    addOthers(id, step);
    step_[id] = static_cast<int32_t>(program_.steps.size());
    program_.steps.push_back(std::move(step));
  }

  // Kernels for other extents.
  void addOthers(NodeId id, plan::Step& step) {
    const auto found = assignment_.others.find(id);
    if (found == assignment_.others.end()) return;
    for (const auto& [option, elements] : found->second) {
      auto& other = step.others.emplace_back();
      other.elements = elements;
      other.kernel = option.record;
      if (!option.nativeCode.empty()) other.kernel.nativeCode = native_.add(option.nativeCode);
      other.tactic = option.candidate.kernelName();
      other.tacticValue = option.candidate.hash();
      step.workspaceBytes = std::max(step.workspaceBytes, option.workspaceBytes);
    }
  }

  // Numbers that are read behind the phase, where the host can read them.
  void addSizes(int32_t phase) {
    for (const NodeId id : phases_.sizes) {
      if (phases_.ofNode[id] != phase) continue;
      const auto& node = graph_.node(id);
      int32_t number = tensor_[node.outputs[0]];
      if (!onHost_) {
        const int32_t copy = addTensor(node.outputs[0], Storage::kArena, -1);
        program_.tensors[static_cast<size_t>(copy)].onHost = true;
        program_.tensors[static_cast<size_t>(copy)].debug = false;
        program_.steps.push_back(copyStep(number, copy, fmt::format("Copy of the size of '{}'", node.name)));
        number = copy;
      }
      program_.sizeTensors.push_back(number);
    }
  }

  // Numbers stay until they are read.
  void keepSizes() {
    for (size_t i = 0; i < program_.sizeTensors.size(); ++i) {
      const int32_t phase = phases_.ofNode[phases_.sizes[i]];
      const int32_t last = program_.cuts[static_cast<size_t>(phase)] - 1;
      auto& tensor = program_.tensors[static_cast<size_t>(program_.sizeTensors[i])];
      for (auto* record : {&tensor, &ownerOf(program_, program_.sizeTensors[i])}) {
        if (record->firstStep >= 0) record->lastStep = std::max(record->lastStep, last);
      }
    }
  }

  const Graph& graph_;
  const graph::Phases phases_;
  const Assignment& assignment_;
  const Placement& placement_;
  std::span<const KernelNeeds> needs_;  // by node
  const ProfileSymbols& symbols_;
  const plan::Plan& plan_;
  ConstantPool& constants_;
  NativeCodePool& native_;
  int32_t mostStreams_;
  Log& log_;
  plan::Program program_;
  std::vector<int32_t> step_;                         // by node; -1 without a kernel
  std::vector<int32_t> tensor_;                       // by value
  std::vector<std::pair<int32_t, int32_t>> copies_;   // of results to outputs
  std::vector<std::pair<int32_t, int32_t>> uploads_;  // of shape tensors to the device
  std::vector<int32_t> workspaceUntil_;               // by step: the last one during which its workspace is in use
  bool onHost_ = true;                                // whether the device computes in host memory
};

}  // namespace

plan::Program makeProgram(const Graph& graph, const Assignment& assignment, const Placement& placement,
                          std::span<const KernelNeeds> needs, const ProfileSymbols& symbols, const plan::Plan& plan,
                          ConstantPool& constants, NativeCodePool& native, int32_t mostStreams, Log& log,
                          std::vector<int32_t>* stepOf) {
  Scheduler scheduler(graph, assignment, placement, needs, symbols, plan, constants, native, mostStreams, log);
  auto program = scheduler.run();
  program.shapeBounds = symbols.shapeBounds;
  if (stepOf != nullptr) *stepOf = scheduler.steps();
  return program;
}

}  // namespace tenon::compile
