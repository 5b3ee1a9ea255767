// Lifetimes from the order of the steps; results take the memory of what dies; lifetimes become offsets.
#include "compile/schedule/lifetimes.h"

#include <algorithm>

#include "core/storage.h"
#include "memory/layout.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;
using plan::Storage;

constexpr uint64_t kAlignment = 256;

class InPlace {
 public:
  InPlace(const Graph& graph, const Assignment& assignment, const std::vector<int32_t>& step,
          const std::vector<int32_t>& tensor, plan::Program& program)
      : graph_(graph), assignment_(assignment), step_(step), tensor_(tensor), program_(program) {}

  void run() {
    views_.resize(program_.tensors.size());
    for (size_t t = 0; t < program_.tensors.size(); ++t) {
      const auto& tensor = program_.tensors[t];
      if (tensor.storage == Storage::kView)
        views_[static_cast<size_t>(tensor.index)].push_back(static_cast<int32_t>(t));
    }
    for (const NodeId id : graph_.order()) {
      if (step_[id] < 0) continue;
      const auto& node = graph_.node(id);
      const auto facts = node.op.facts();
      for (const auto& alias : facts.aliases) {
        // What else reads the input in the same step may read it after it is overwritten, unless element by element.
        const auto input = static_cast<size_t>(alias.input);
        const bool isAlone =
            input < node.inputs.size() && std::count(node.inputs.begin(), node.inputs.end(), node.inputs[input]) == 1;
        if (!alias.view && (isAlone || facts.pointwise))
          tryInPlace(node, step_[id], static_cast<size_t>(alias.input), static_cast<size_t>(alias.output));
      }
      const uint64_t overwritten = assignment_.choice[id].candidate.overwritten;
      for (size_t i = 0; i < std::min<size_t>(node.inputs.size(), 64); ++i) {
        const bool isAlone = std::count(node.inputs.begin(), node.inputs.end(), node.inputs[i]) == 1;
        if (isAlone && ((overwritten >> i) & 1) != 0) tryInPlace(node, step_[id], i, 0);
      }
    }
  }

 private:
  void tryInPlace(const graph::Node& node, int32_t step, size_t inputIndex, size_t outputIndex) {
    if (inputIndex >= node.inputs.size()) return;
    const ValueId inputId = node.inputs[inputIndex];
    const int32_t inputTensor = tensor_[inputId];
    const int32_t outputTensor = tensor_[node.outputs[outputIndex]];
    auto& in = ownerOf(program_, inputTensor);
    auto& out = program_.tensors[static_cast<size_t>(outputTensor)];
    const auto& place = program_.tensors[static_cast<size_t>(inputTensor)];
    if (!place.viewOffset.isConstant(0) || !place.pitch.isConstant(0)) return;
    const auto& input = graph_.value(inputId);
    const auto& output = graph_.value(node.outputs[outputIndex]);
    if (out.storage != Storage::kArena || in.storage != Storage::kArena || in.lastStep != step) return;
    if (input.constraints.debug || input.type.shape != output.type.shape || place.layout != out.layout) return;
    if (bits(input.type.dtype) != bits(output.type.dtype) || in.bytes != out.bytes) return;
    for (const ValueId other : node.inputs) {
      if (other != inputId && &ownerOf(program_, tensor_[other]) == &in) return;
    }
    const auto ownerIndex = static_cast<int32_t>(&in - program_.tensors.data());
    in.lastStep = std::max(in.lastStep, out.lastStep);
    auto& followers = views_[static_cast<size_t>(outputTensor)];
    for (const int32_t view : followers) program_.tensors[static_cast<size_t>(view)].index = ownerIndex;
    followers.push_back(outputTensor);
    auto& views = views_[static_cast<size_t>(ownerIndex)];
    views.insert(views.end(), followers.begin(), followers.end());
    followers.clear();
    out.storage = Storage::kView;
    out.index = ownerIndex;
  }

  const Graph& graph_;
  const Assignment& assignment_;
  const std::vector<int32_t>& step_;
  const std::vector<int32_t>& tensor_;
  plan::Program& program_;
  std::vector<std::vector<int32_t>> views_;  // by tensor
};

}  // namespace

plan::TensorRecord& ownerOf(plan::Program& program, int32_t tensor) {
  auto* t = &program.tensors[static_cast<size_t>(tensor)];
  while (t->storage == Storage::kView) t = &program.tensors[static_cast<size_t>(t->index)];
  return *t;
}

void noteLifetimes(plan::Program& program) {
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const auto at = static_cast<int32_t>(s);
    const auto touch = [&](int32_t tensor) {
      auto& t = program.tensors[static_cast<size_t>(tensor)];
      auto& owner = t.storage == Storage::kView ? program.tensors[static_cast<size_t>(t.index)] : t;
      for (auto* record : {&t, &owner}) {
        if (record->firstStep < 0) record->firstStep = at;
        record->lastStep = at;
      }
    };
    for (const int32_t t : program.steps[s].inputs) touch(t);
    for (const int32_t t : program.steps[s].outputs) touch(t);
  }
}

void shareInPlace(const Graph& graph, const Assignment& assignment, const std::vector<int32_t>& step,
                  const std::vector<int32_t>& tensor, plan::Program& program) {
  InPlace(graph, assignment, step, tensor, program).run();
}

void layOut(plan::Program& program, const std::vector<int32_t>& workspaceUntil, Log& log) {
  std::vector<memory::Block> blocks;
  std::vector<uint64_t*> places;
  for (auto& tensor : program.tensors) {
    if (tensor.storage != Storage::kArena || tensor.firstStep < 0) continue;
    blocks.push_back({tensor.firstStep, tensor.lastStep, tensor.bytes, kAlignment});
    places.push_back(&tensor.offset);
  }
  for (size_t s = 0; s < program.steps.size(); ++s) {
    auto& step = program.steps[s];
    if (step.workspaceBytes == 0) continue;
    blocks.push_back({static_cast<int32_t>(s), workspaceUntil[s], step.workspaceBytes, kAlignment});
    places.push_back(&step.workspaceOffset);
  }
  const auto layout = memory::layout(blocks);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = layout.offsets[i];
  program.arenaBytes = layout.bytes;
  uint64_t sum = 0;
  for (const auto& block : blocks) sum += block.bytes;
  log.info("Total Activation Memory: {} bytes ({} without reuse; at least {} live at once)", layout.bytes, sum,
           memory::lowerBound(blocks));
}

}  // namespace tenon::compile
