// Attention of any number of keys by warpgroups: parameters, tensor maps and launch.
#include <algorithm>
#include <cstring>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "backends/cuda/kernels/attention/flash_operands.h"
#include "backends/cuda/kernels/attention/stream_attention.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/space.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;

class StreamKernel final : public runtime::Kernel {
 public:
  explicit StreamKernel(const runtime::KernelLoad& load)
      : op(descriptionOf<ops::Attention>(load)), choice(StreamChoice::parse(load.record.params)) {
    if (const auto missing = streamMissing(); !missing.empty()) throw Unsupported("cuda.stream_attention: {}", missing);
    module_.emplace(load.nativeCode, choice.code());
    function = module_->function("tenon_stream_attention");
    allowSharedBytes(function, choice.sharedBytes());
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  ops::Attention op;
  StreamChoice choice;
  CUfunction function = nullptr;

 private:
  std::optional<Module> module_;
};

class StreamInstance final : public runtime::KernelInstance {
 public:
  explicit StreamInstance(const StreamKernel& kernel) : kernel_(kernel) {}

  size_t configure(const runtime::Shapes& shapes) override {
    problem_ = dnn::attentionProblem(kernel_.op, shapes);
    if (const auto refusal = kernel_.choice.refusal(problem_); !refusal.empty())
      throw Unsupported("cuda.stream_attention: {}", refusal);
    const auto& p = problem_;
    const int64_t tiles = (p.queries + kernel_.choice.rows() - 1) / kernel_.choice.rows();
    parameters_ = {};
    setFlash(parameters_, p, kernel_.op);
    parameters_.tiles = dividerBy(tiles);
    pairs_ = p.hasMask && maskIsInPairs(p);
    parameters_.allTiles = static_cast<uint32_t>(p.batch * p.heads * tiles);
    blocks_ = parameters_.allTiles;
    if (!kernel_.choice.once) blocks_ = std::min(blocks_, static_cast<unsigned>(multiprocessors()));
    for (auto& address : mapped_) address = nullptr;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    auto& p = parameters_;
    const auto& choice = kernel_.choice;
    bindFlash(p, problem_, arguments);
    for (const void* address : {p.q, p.k, p.v, static_cast<const void*>(p.y)})
      checkUser(isAligned(address, kPackBytes), "attention: a tensor is not aligned to {} bytes", kPackBytes);
    p.maskInPairs = pairs_ && isAligned(p.mask, 2 * bytesOf(problem_.type, 1)) ? 1 : 0;
    const int64_t shared = problem_.heads / problem_.sharing;
    map(p.qMap, mapped_[0], p.q, problem_.q, problem_.queries, problem_.heads, 64);
    map(p.kMap, mapped_[1], p.k, problem_.k, problem_.keys, shared, choice.keys);
    map(p.vMap, mapped_[2], p.v, problem_.v, problem_.keys, shared, choice.keys);
    launchGrid(kernel_.function, blocks_, 1, 1, static_cast<unsigned>(choice.threads()), &p, arguments.stream,
               static_cast<unsigned>(choice.sharedBytes()));
  }

 private:
  // The map of an operand, where its address is a new one.
  void map(TileMap& to, const void*& mapped, const void* address, const dnn::AttentionOperand& operand, int64_t rows,
           int64_t heads, int boxRows) {
    if (mapped == address || rows == 0) return;
    CUtensorMap made;
    const auto type =
        problem_.type == DataType::kF16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    const auto extent = [](int64_t n) { return static_cast<cuuint64_t>(n); };
    const cuuint64_t extents[] = {extent(problem_.width), extent(rows), extent(heads), extent(problem_.batch)};
    const cuuint64_t pitches[] = {extent(2 * operand.rowStride), extent(2 * operand.headStride),
                                  extent(2 * operand.batchStride)};
    const cuuint32_t box[] = {64, static_cast<cuuint32_t>(boxRows), 1, 1};
    const cuuint32_t steps[] = {1, 1, 1, 1};
    check(driver().tensorMapEncodeTiled(&made, type, 4, const_cast<void*>(address), extents, pitches, box, steps,
                                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          "cuTensorMapEncodeTiled");
    static_assert(sizeof(made) == sizeof(TileMap));
    std::memcpy(to.bytes, &made, sizeof(made));
    mapped = address;
  }

  const StreamKernel& kernel_;
  dnn::AttentionProblem problem_;
  unsigned blocks_ = 0;
  bool pairs_ = false;
  const void* mapped_[3] = {};
  StreamParameters parameters_;
};

std::unique_ptr<runtime::KernelInstance> StreamKernel::instantiate() const {
  return std::make_unique<StreamInstance>(*this);
}

}  // namespace

KernelRow kernelRow_stream_attention() {
  return {"stream_attention", 2,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<StreamKernel>(load);
          },
          [](const plan::KernelRecord& record) { return StreamChoice::parse(record.params).code(); }};
}

}  // namespace tenon::backends::cuda
