// Attention of few queries over many keys: parameters and launch.
#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "backends/cuda/kernels/attention/flash_operands.h"
#include "backends/cuda/kernels/attention/row_attention.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/space.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;

class RowAttentionKernel final : public runtime::Kernel {
 public:
  explicit RowAttentionKernel(const runtime::KernelLoad& load)
      : op(descriptionOf<ops::Attention>(load)),
        choice(RowAttentionChoice::parse(load.record.params)),
        module_(load.nativeCode, choice.code()),
        function(module_.function("tenon_row_attention")) {
    allowSharedBytes(function, kRowAttentionMostShared);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  ops::Attention op;
  RowAttentionChoice choice;

 private:
  Module module_;

 public:
  CUfunction function;
};

class RowAttentionInstance final : public runtime::KernelInstance {
 public:
  explicit RowAttentionInstance(const RowAttentionKernel& kernel) : kernel_(kernel) {}

  size_t configure(const runtime::Shapes& shapes) override {
    problem_ = dnn::attentionProblem(kernel_.op, shapes);
    const auto& p = problem_;
    const auto& choice = kernel_.choice;
    if (const auto refusal = choice.refusal(p); !refusal.empty()) throw Unsupported("cuda.row_attention: {}", refusal);
    constexpr int64_t kStep = RowAttentionChoice::kKeys;
    const int64_t rows = std::min<int64_t>(p.queries, choice.rows);
    const int64_t tiles = (p.queries + choice.rows - 1) / choice.rows;
    const int64_t steps = (p.keys + kStep - 1) / kStep;
    parameters_ = {};
    setFlash(parameters_, p, kernel_.op);
    parameters_.tiles = dividerBy(std::max<int64_t>(tiles, 1));
    parameters_.keysOfBlock = static_cast<int32_t>((steps + choice.blocks - 1) / choice.blocks * kStep);
    parameters_.chunksOfBlock = static_cast<int32_t>(choice.chunksOfBlock(rows));
    parameters_.chunksDivider = dividerBy(std::max(parameters_.chunksOfBlock, 1));
    pairs_ = p.hasMask && maskIsInPairs(p);
    heads_ = static_cast<unsigned>(p.heads * tiles);
    batches_ = static_cast<unsigned>(p.batch);
    warps_ = choice.warpsFor(rows);
    sharedBytes_ = static_cast<unsigned>(choice.sharedBytes(rows, warps_));
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (heads_ == 0 || batches_ == 0) return;
    auto& p = parameters_;
    bindFlash(p, problem_, arguments);
    for (const void* address : {p.q, p.k, p.v, static_cast<const void*>(p.y)})
      checkUser(isAligned(address, kPackBytes), "attention: a tensor is not aligned to {} bytes", kPackBytes);
    p.maskInPairs = pairs_ && isAligned(p.mask, 2 * bytesOf(problem_.type, 1)) ? 1 : 0;
    launchCluster(kernel_.function, static_cast<unsigned>(kernel_.choice.blocks), heads_, batches_,
                  static_cast<unsigned>(32 * warps_), &p, arguments.stream, sharedBytes_);
  }

 private:
  const RowAttentionKernel& kernel_;
  dnn::AttentionProblem problem_;
  unsigned heads_ = 0, batches_ = 0, sharedBytes_ = 0;
  int warps_ = 1;
  bool pairs_ = false;
  RowAttentionParameters parameters_;
};

std::unique_ptr<runtime::KernelInstance> RowAttentionKernel::instantiate() const {
  return std::make_unique<RowAttentionInstance>(*this);
}

}  // namespace

KernelRow kernelRow_row_attention() {
  return {"row_attention", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<RowAttentionKernel>(load);
          },
          [](const plan::KernelRecord& record) { return RowAttentionChoice::parse(record.params).code(); }};
}

}  // namespace tenon::backends::cuda
