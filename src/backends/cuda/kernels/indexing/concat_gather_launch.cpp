// Gathers from concatenations: what has one index moves in the widest units that divide it; where that is one element,
// a thread takes four indices.
#include "ops/op/concat_gather.h"

#include <algorithm>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/space.h"
#include "backends/cuda/kernels/indexing/concat_gather_parameters.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kPack = 4;

class ConcatGatherInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::ConcatGather&, const Types&) { return {"concat_gather.cu", {}, {}}; }
  ConcatGatherInstance(const ops::ConcatGather& op, const Types& types, const Module& module)
      : op_(op), module_(module), elementBytes_(bits(types.inputs.at(0)) / 8) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    const auto axis = static_cast<int>(op_.axis < 0 ? op_.axis + y.dims.rank : op_.axis);
    count_ = y.dims.count();
    picks_ = y.dims[axis];
    inner_ = stridesOf(y.dims, y.layout)[static_cast<size_t>(axis)];
    p_ = {};
    for (size_t i = 0; i < shapes.inputs.size(); ++i) {
      if (i == ops::ConcatGather::kIndices) continue;
      p_.begin[p_.parts + 1] = p_.begin[p_.parts] + static_cast<int32_t>(shapes.inputs[i].dims[axis]);
      ++p_.parts;
    }
    while (std::max(1, 2 * p_.half) < p_.parts) p_.half = std::max(1, 2 * p_.half);
    unit_ = 0;  // chosen at the launch, by the addresses
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    int64_t unit = 16;
    int part = 0;
    for (size_t i = 0; part < p_.parts; ++i) {
      if (i == ops::ConcatGather::kIndices) continue;
      unit = std::min(unit, unitOf(inner_ * elementBytes_, elementBytes_, arguments.inputs[i], arguments.outputs[0]));
      p_.from[part++] = arguments.inputs[i];
    }
    const bool packs = inner_ == 1 && elementBytes_ <= 4 && picks_ % kPack == 0 &&
                       isAligned(arguments.outputs[0], static_cast<size_t>(kPack * elementBytes_));
    if (unit != unit_ || packs != packs_) choose(unit, packs);
    p_.indices = static_cast<const int32_t*>(arguments.inputs[ops::ConcatGather::kIndices]);
    p_.y = arguments.outputs[0];
    launchThreads(function_, p_.threads, &p_, arguments.stream, blockSize(p_.threads));
  }

 private:
  void choose(int64_t unit, bool packs) {
    unit_ = unit;
    packs_ = packs;
    p_.inner = dividerBy(inner_ * elementBytes_ / unit);
    p_.picks = dividerBy(packs ? picks_ / kPack : picks_);
    p_.threads = packs ? count_ / kPack : count_ * elementBytes_ / unit;
    function_ = module_.function(packs ? fmt::format("tenon_concat_gather_packs_{}", elementBytes_)
                                       : fmt::format("tenon_concat_gather_{}", unit));
  }

  const ops::ConcatGather& op_;
  const Module& module_;
  int64_t elementBytes_;
  int64_t count_ = 0, picks_ = 0;
  int64_t inner_ = 1;  // elements that have one index of the axis
  int64_t unit_ = 0;
  bool packs_ = false;
  CUfunction function_ = nullptr;
  ConcatGatherParameters p_;
};

}  // namespace

KernelRow kernelRow_concat_gather() { return ownRow<ops::ConcatGather, ConcatGatherInstance>("concat_gather"); }

}  // namespace tenon::backends::cuda
