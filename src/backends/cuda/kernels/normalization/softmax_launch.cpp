// Softmax: lines by warps, blocks or threads, as long and as close as they are.
#include "ops/op/softmax.h"

#include <bit>

#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/normalization/normalization_parameters.h"

namespace tenon::backends::cuda {
namespace {

class SoftmaxInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Softmax&, const Types& types) {
    return {"softmax.cu", {typeDefine("X", types.inputs.at(0))}, {}};
  }
  SoftmaxInstance(const ops::Softmax& op, const Types&, const Module& module) : op_(op), module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto mask = axisMask({op_.axis}, x.dims.rank);
    const auto strides = stridesOf(x.dims, x.layout);
    const auto lines = splitAxes(x.dims, mask, {strides}).kept;
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + x.dims.rank : op_.axis);
    parameters_.extent = x.dims[static_cast<int>(axis)];
    parameters_.stride = strides[axis];
    setSpace(parameters_.lines, lines);
    count_ = x.dims.count();
    checkUser(!isWide(parameters_.lines), "softmax: {} rows exceed the limit of 2^31", parameters_.lines.count);
    threads_ = kSoftmaxThreads;
    states_ = nullptr;
    configurePacks(lines, 16 / (bits(x.dtype) / 8));
    const int64_t extent = parameters_.extent;
    const int64_t count = parameters_.lines.count;
    if (parameters_.stride != 1 && lines.strides[0].back() == 1 && lines.inner() >= 8) {
      function_ = module_.function("tenon_softmax_columns");
      blocks_ = (count + threads_ - 1) / threads_;
    } else if (extent <= 1024) {
      function_ = module_.function(fmt::format("tenon_softmax_warp_{}", extent <= 128 ? 4 : extent <= 512 ? 16 : 32));
      threads_ = blockSize(count * 32, 32);
      blocks_ = (count * 32 + threads_ - 1) / threads_;
    } else {
      constexpr int64_t kChunk = int64_t{kSoftmaxThreads} * kSoftmaxItems;
      constexpr int64_t kFewLines = 32;  // that leave most of the chip idle, each in the registers of a block
      if (extent > 2 * kChunk && count < kFewLines) packed_ = nullptr;
      parameters_.chunks = (extent + kChunk - 1) / kChunk;
      if (parameters_.chunks > 1) states_ = module_.function("tenon_softmax_states");
      function_ = module_.function("tenon_softmax_chunks");
      blocks_ = count * parameters_.chunks;
      checkUser(blocks_ < int64_t{1} << 31, "softmax: {} chunks of rows exceed a grid", blocks_);
      return states_ == nullptr ? 0 : static_cast<size_t>(blocks_) * 2 * sizeof(float);
    }
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    if (packed_ != nullptr && isAligned(parameters_.x, 16) && isAligned(parameters_.y, 16)) {
      const int64_t lines = parameters_.lines.count;
      if (packedThreads_ > 32) {
        launchGrid(packed_, static_cast<unsigned>(lines), 1, 1, packedThreads_, &parameters_, arguments.stream);
      } else {
        launchThreads(packed_, lines * lanes_, &parameters_, arguments.stream, blockSize(lines * lanes_, 32));
      }
      return;
    }
    parameters_.states = arguments.workspace;
    if (states_ != nullptr)
      launchGrid(states_, static_cast<unsigned>(blocks_), 1, 1, threads_, &parameters_, arguments.stream);
    launchGrid(function_, static_cast<unsigned>(blocks_), 1, 1, threads_, &parameters_, arguments.stream);
  }

 private:
  // Lines in one piece that a warp or a block keeps in registers.
  void configurePacks(const LoopSpace& lines, int64_t pack) {
    packed_ = nullptr;
    if (parameters_.stride != 1 || parameters_.extent % pack != 0) return;
    for (const int64_t stride : lines.strides[0]) {
      if (parameters_.lines.count > 1 && stride % pack != 0) return;
    }
    const int64_t perLane = (parameters_.extent / pack + 31) / 32;
    constexpr int64_t kMost = 4;  // packs of a thread
    packedThreads_ = 32;
    lanes_ = 32;
    if (parameters_.extent <= 16 * pack && parameters_.extent > 0) {
      lanes_ = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(parameters_.extent / pack)));
      packed_ = module_.function(fmt::format("tenon_softmax_short_{}", lanes_));
    } else if (perLane <= kMost) {
      packed_ = module_.function(fmt::format("tenon_softmax_packs_{}", perLane <= 1 ? 1 : perLane <= 2 ? 2 : 4));
    } else if (perLane <= 32 * kMost) {
      packed_ = module_.function("tenon_softmax_block_packs");
      packedThreads_ = static_cast<unsigned>((perLane + kMost - 1) / kMost) * 32;
    }
  }

  const ops::Softmax& op_;
  const Module& module_;
  CUfunction function_ = nullptr;
  CUfunction states_ = nullptr;  // in front, of lines in chunks
  CUfunction packed_ = nullptr;
  unsigned packedThreads_ = 32;  // of a line, where it is a block's
  int64_t lanes_ = 32;           // of a line, in a warp
  int64_t count_ = 0;
  int64_t blocks_ = 0;
  unsigned threads_ = 256;
  SoftmaxParameters parameters_;
};

}  // namespace

KernelRow kernelRow_softmax() { return ownRow<ops::Softmax, SoftmaxInstance>("softmax", 3); }

}  // namespace tenon::backends::cuda
