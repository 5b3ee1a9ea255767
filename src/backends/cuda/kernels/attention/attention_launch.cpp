// Attention of any floating type, width and mask: a block per row, for what the tensor cores' kernel refuses.
#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "backends/cuda/kernels/attention/attention_problem.h"
#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/own_kernel.h"

namespace tenon::backends::cuda {
namespace {

class AttentionInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Attention&, const Types& types) {
    return {"attention.cu", {typeDefine("X", types.inputs.at(0))}, {}};
  }
  AttentionInstance(const ops::Attention& op, const Types&, const Module& module)
      : op_(op), function_(module.function("tenon_attention")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    problem_ = dnn::attentionProblem(op_, shapes);
    const auto& p = problem_;
    parameters_ = {};
    parameters_.heads = p.heads;
    parameters_.sharing = p.sharing;
    parameters_.queries = p.queries;
    parameters_.keys = p.keys;
    parameters_.width = static_cast<int32_t>(p.width);
    parameters_.valueWidth = static_cast<int32_t>(p.valueWidth);
    parameters_.scale = p.softcap == 0 ? p.scale : p.scale / p.softcap;
    parameters_.softcap = p.softcap;
    parameters_.emptyIsZero = op_.emptyIsZero ? 1 : 0;
    parameters_.causal = p.causal ? 1 : 0;
    const auto set = [](int64_t* stride, const dnn::AttentionOperand& operand) {
      stride[0] = operand.batchStride;
      stride[1] = operand.headStride;
      stride[2] = operand.rowStride;
    };
    set(parameters_.qStride, p.q);
    set(parameters_.kStride, p.k);
    set(parameters_.vStride, p.v);
    set(parameters_.yStride, p.output);
    if (p.hasMask) {
      const auto strides = p.mask.strides();
      for (int axis = 1; axis < 4; ++axis)
        parameters_.maskStride[axis - 1] = p.mask[axis] == 1 ? 0 : strides[static_cast<size_t>(axis)];
      setSpace(parameters_.maskBatches, collapse(p.batches, {stridesOf(p.batches, Layout::kLinear), p.maskBatches}));
    }
    blocks_ = p.batch * p.heads * p.queries;
    checkUser(blocks_ < int64_t{1} << 31, "attention: {} rows exceed the grid", blocks_);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0 || problem_.valueWidth == 0) return;
    const auto at = [&](const dnn::Source& source) {
      return static_cast<std::byte*>(arguments.inputs[source.input]) + source.offsetBytes;
    };
    parameters_.q = at(problem_.q.source);
    parameters_.k = at(problem_.k.source);
    parameters_.v = at(problem_.v.source);
    parameters_.mask = problem_.hasMask ? at(problem_.maskSource) : nullptr;
    parameters_.y = arguments.outputs[0];
    launchGrid(function_, static_cast<unsigned>(blocks_), 1, 1, kAttentionThreads, &parameters_, arguments.stream);
  }

 private:
  const ops::Attention& op_;
  CUfunction function_;
  dnn::AttentionProblem problem_;
  int64_t blocks_ = 0;
  AttentionParameters parameters_;
};

}  // namespace

KernelRow kernelRow_attention() { return ownRow<ops::Attention, AttentionInstance>("attention"); }

}  // namespace tenon::backends::cuda
