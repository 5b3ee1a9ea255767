// Suppression of boxes with outputs of a fixed size. Limits of classes are taken after the sort, which then has all
// candidates.
#include "ops/op/padded_nms.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/kernels/suppression/suppression.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();
int64_t limitOf(int64_t count) { return count > 0 ? count : kUnlimited; }

class PaddedNmsInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::PaddedNms& op, const Types& types) {
    return {"padded_nms.cu",
            {typeDefine("X", types.inputs.at(0)), fmt::format("INCLUSIVE={}", op.inclusive ? 1 : 0),
             fmt::format("INCLUSIVE_OVERLAP={}", op.inclusiveOverlap ? 1 : 0)},
            {}};
  }
  PaddedNmsInstance(const ops::PaddedNms& op, const Types&, const Module& module)
      : op_(op),
        suppression_(module),
        first_(module.function("tenon_suppression_first")),
        end_(module.function("tenon_suppression_end")),
        write_(module.function("tenon_padded_nms_write")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const int64_t keep = shapes.outputs[1].dims[1];
    auto& p = suppression_.parameters;
    p = {};
    suppression_.configure(shapes.inputs[0].dims, shapes.inputs[1].dims,
                           op_.perClass > 0 ? kUnlimited : limitOf(op_.inAll), op_.agnostic,
                           op_.agnostic ? kUnlimited : std::min(keep, limitOf(op_.keepPerClass)));
    p.keep = keep;
    p.scoreThreshold = op_.scoreThreshold;
    p.overlapThreshold = op_.overlapThreshold;
    p.longerArea = op_.pixels == ops::PixelSides::kNone ? 0 : 1;
    p.longerSide = op_.pixels == ops::PixelSides::kAll ? 1 : 0;
    p.perClass = op_.perClass;
    p.inAll = op_.inAll;
    p.keepPerClass = op_.keepPerClass;
    p.background = op_.background;
    cutsClasses_ = op_.perClass > 0;
    cutsAll_ = cutsClasses_ && op_.inAll > 0;
    if (op_.agnostic && op_.keepPerClass > 0) suppression_.place(p.ofClass, p.classes, true);
    if (cutsClasses_) suppression_.place(p.alive, p.limit, true);
    suppression_.placeAll();
    if (cutsAll_) suppression_.place(p.ends, 1, false);
    return suppression_.bytes();
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    auto& p = suppression_.parameters;
    if (p.items == 0) return;
    for (size_t i = 0; i < std::size(p.outputs); ++i) p.outputs[i] = arguments.outputs[i];
    suppression_.launchCandidates(arguments);
    if (cutsClasses_) launchThreads(first_, p.items * p.classes * kSuppressionThreads, &p, arguments.stream);
    if (cutsAll_) launchThreads(end_, p.items * kSuppressionThreads, &p, arguments.stream);
    suppression_.launchGreedy(arguments.stream);
    launchThreads(write_, p.items * kSuppressionThreads, &p, arguments.stream);
  }

 private:
  const ops::PaddedNms& op_;
  Suppression suppression_;
  CUfunction first_;
  CUfunction end_;
  CUfunction write_;
  bool cutsClasses_ = false;
  bool cutsAll_ = false;
};

}  // namespace

KernelRow kernelRow_padded_nms() { return ownRow<ops::PaddedNms, PaddedNmsInstance>("padded_nms"); }

}  // namespace tenon::backends::cuda
