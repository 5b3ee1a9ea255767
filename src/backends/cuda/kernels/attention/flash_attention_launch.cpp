// Flash attention on tensor cores: parameters and launch.
#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "backends/cuda/kernels/attention/flash_attention.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/space.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;

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

void setStrides(int64_t* stride, const dnn::AttentionOperand& operand) {
  stride[0] = operand.batchStride;
  stride[1] = operand.headStride;
  stride[2] = operand.rowStride;
}

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
    if (refusal.empty() && choice.groups) refusal = groupRefusal(choice, p);
    if (!refusal.empty()) throw Unsupported("cuda.flash_attention: {}", refusal);
    const int64_t rows = choice.groups ? int64_t{choice.rows()} * form.splits : choice.rows();
    const int64_t tiles = (p.queries + rows - 1) / rows;
    const int64_t keyTiles = (p.keys + form.keys - 1) / form.keys;
    parameters_ = {};
    parameters_.tiles = dividerBy(tiles);
    parameters_.heads = dividerBy(p.heads);
    parameters_.sharing = dividerBy(p.sharing);
    parameters_.queries = static_cast<int32_t>(p.queries);
    parameters_.keys = static_cast<int32_t>(p.keys);
    parameters_.keysOfBlock = static_cast<int32_t>((keyTiles + form.splits - 1) / form.splits * form.keys);
    parameters_.rowsOfBlock = static_cast<int32_t>(rows);
    parameters_.width = static_cast<int32_t>(p.width);
    parameters_.emptyIsZero = kernel_.op.emptyIsZero ? 1 : 0;
    parameters_.causal = p.causal ? 1 : 0;
    constexpr float kBaseTwo = 1.44269504f;
    parameters_.scale = p.scale * kBaseTwo;
    setStrides(parameters_.qStride, p.q);
    setStrides(parameters_.kStride, p.k);
    setStrides(parameters_.vStride, p.v);
    setStrides(parameters_.yStride, p.output);
    if (p.hasMask) setMask();
    blocks_ = static_cast<unsigned>(p.batch * p.heads * tiles);
    if (choice.parts() == 1 || blocks_ == 0) return 0;
    const std::vector<uint32_t> zeros(blocks_);
    arrived_.write(zeros.data(), zeros.size() * sizeof(uint32_t));
    parameters_.arrived = static_cast<uint32_t*>(arrived_.data());
    return static_cast<size_t>(blocks_) * static_cast<size_t>(form.splits) * choice.partialFloats() * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    const auto at = [&](const dnn::Source& source) {
      return static_cast<const std::byte*>(arguments.inputs[source.input]) + source.offsetBytes;
    };
    auto& p = parameters_;
    p.q = at(problem_.q.source);
    p.k = at(problem_.k.source);
    p.v = at(problem_.v.source);
    p.mask = problem_.hasMask ? at(problem_.maskSource) : nullptr;
    p.y = arguments.outputs[0];
    p.partial = static_cast<float*>(arguments.workspace);
    for (const void* address : {p.q, p.k, p.v, static_cast<const void*>(p.y)}) {
      checkUser(isAligned(address, kPackBytes), "attention: a tensor is not aligned to {} bytes", kPackBytes);
    }
    p.maskInPairs = maskInPairs_ && isAligned(p.mask, 2 * bytesOf(problem_.type, 1)) ? 1 : 0;
    const auto& choice = kernel_.choice;
    launchGrid(kernel_.function, blocks_, static_cast<unsigned>(choice.parts()), 1,
               static_cast<unsigned>(choice.threads()), &p, arguments.stream,
               static_cast<unsigned>(kernel_.sharedBytes));
  }

 private:
  // Two neighbouring keys are one word where every row begins at an even element.
  void setMask() {
    const auto strides = problem_.mask.strides();
    maskInPairs_ = problem_.keys % 2 == 0;
    parameters_.masks = dividerBy(problem_.mask[0]);
    for (int axis = 0; axis < 4; ++axis) {
      const int64_t stride = problem_.mask[axis] == 1 ? 0 : strides[static_cast<size_t>(axis)];
      parameters_.maskStride[axis] = stride;
      maskInPairs_ = maskInPairs_ && (axis == 3 ? stride == 1 : stride % 2 == 0);
    }
  }

  const FlashKernel& kernel_;
  dnn::AttentionProblem problem_;
  unsigned blocks_ = 0;
  bool maskInPairs_ = false;
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
