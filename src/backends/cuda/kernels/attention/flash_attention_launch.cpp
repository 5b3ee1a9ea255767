// Flash attention on tensor cores: parameters and launch.
#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "backends/cuda/kernels/attention/flash_attention.h"
#include "backends/cuda/kernels/attention/flash_operands.h"
#include "backends/cuda/kernels/common/device_table.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/space.h"

namespace tenon::backends::cuda {
namespace {

class FlashKernel final : public runtime::Kernel {
 public:
  explicit FlashKernel(const runtime::KernelLoad& load)
      : op(descriptionOf<ops::Attention>(load)),
        choice(FlashChoice::parse(load.record.params)),
        module_(load.nativeCode, choice.code()),
        function(module_.function(choice.groups ? "tenon_group_attention" : "tenon_flash_attention")),
        sharedBytes(choice.sharedBytes()) {
    allowSharedBytes(function, sharedBytes);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  ops::Attention op;
  FlashChoice choice;

 private:
  Module module_;

 public:
  CUfunction function;
  size_t sharedBytes;
};

class FlashInstance final : public runtime::KernelInstance {
 public:
  explicit FlashInstance(const FlashKernel& kernel) : kernel_(kernel) {}

  size_t configure(const runtime::Shapes& shapes) override {
    problem_ = dnn::attentionProblem(kernel_.op, shapes);
    const auto& p = problem_;
    const auto& choice = kernel_.choice;
    const auto& form = choice.form;
    auto refusal = flashRefusal(p);
    if (refusal.empty() && p.type != choice.type()) {
      refusal = fmt::format("values of {}; the kernel was compiled for {}", name(p.type), name(choice.type()));
    }
    if (refusal.empty() && p.width > choice.width) {
      refusal = fmt::format("heads of {} columns; the kernel was compiled for {}", p.width, choice.width);
    }
    pieceBytes_ = 16;
    if (choice.piece != 0) pieceBytes_ = static_cast<size_t>(bytesOf(p.type, choice.piece));
    if (refusal.empty() && static_cast<size_t>(bytesOf(p.type, flashPiece(p))) < pieceBytes_)
      refusal = fmt::format("rows are not aligned to {} bytes", pieceBytes_);
    if (refusal.empty() && choice.capped != (p.softcap != 0) && !choice.groups)
      refusal = "the kernel was compiled for scores with a soft cap, or without";
    if (refusal.empty() && choice.groups) refusal = groupRefusal(choice, p);
    if (!refusal.empty()) throw Unsupported("cuda.flash_attention: {}", refusal);
    const int64_t rows = choice.groups ? int64_t{choice.rows()} * form.splits : choice.rows();
    const int64_t tiles = (p.queries + rows - 1) / rows;
    const int64_t keyTiles = (p.keys + form.keys - 1) / form.keys;
    parameters_ = {};
    parameters_.tiles = dividerBy(tiles);
    setFlash(parameters_, p, kernel_.op);
    parameters_.keysOfBlock = static_cast<int32_t>((keyTiles + form.splits - 1) / form.splits * form.keys);
    parameters_.rowsOfBlock = static_cast<int32_t>(rows);
    maskInPairs_ = p.hasMask && maskIsInPairs(p);
    blocks_ = static_cast<unsigned>(p.batch * p.heads * tiles);
    if (choice.parts() == 1 || blocks_ == 0) return 0;
    const std::vector<uint32_t> zeros(blocks_);
    arrived_.write(zeros.data(), zeros.size() * sizeof(uint32_t));
    parameters_.arrived = static_cast<uint32_t*>(arrived_.data());
    return static_cast<size_t>(blocks_) * static_cast<size_t>(form.splits) * choice.partialFloats() * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    auto& p = parameters_;
    bindFlash(p, problem_, arguments);
    p.partial = static_cast<float*>(arguments.workspace);
    for (const void* address : {p.q, p.k, p.v, static_cast<const void*>(p.y)}) {
      checkUser(isAligned(address, pieceBytes_), "attention: a tensor is not aligned to {} bytes", pieceBytes_);
    }
    p.maskInPairs = maskInPairs_ && isAligned(p.mask, 2 * bytesOf(problem_.type, 1)) ? 1 : 0;
    const auto& choice = kernel_.choice;
    launchGrid(kernel_.function, blocks_, static_cast<unsigned>(choice.parts()), 1,
               static_cast<unsigned>(choice.threads()), &p, arguments.stream,
               static_cast<unsigned>(kernel_.sharedBytes));
  }

 private:
  const FlashKernel& kernel_;
  dnn::AttentionProblem problem_;
  unsigned blocks_ = 0;
  bool maskInPairs_ = false;
  size_t pieceBytes_ = 16;
  DeviceTable arrived_;
  FlashParameters parameters_;
};

std::unique_ptr<runtime::KernelInstance> FlashKernel::instantiate() const {
  return std::make_unique<FlashInstance>(*this);
}

}  // namespace

KernelRow kernelRow_flash_attention() {
  return {"flash_attention", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<FlashKernel>(load);
          },
          [](const plan::KernelRecord& record) { return FlashChoice::parse(record.params).code(); }};
}

}  // namespace tenon::backends::cuda
