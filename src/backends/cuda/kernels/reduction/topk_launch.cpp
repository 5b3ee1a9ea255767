// TopK: a thread for each of many lines of which few are wanted, blocks that select, or a sort of all.
#include "ops/op/topk.h"

#include <algorithm>
#include <array>
#include <limits>

#include "backends/cuda/kernels/common/axes.h"
#include "backends/cuda/kernels/common/key_sort.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/reduction/topk_parameters.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostWorkspace = int64_t{64} << 20;  // where one line does not need more

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

unsigned gridOf(int64_t blocks) {
  checkUser(blocks < int64_t{1} << 31, "topk: {} blocks exceed a grid", blocks);
  return static_cast<unsigned>(blocks);
}

class TopKInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::TopK& op, const Types& types) {
    return {"topk.cu",
            {typeDefine("X", types.inputs.at(0)), typeDefine("I", types.outputs.at(1)),
             fmt::format("LARGEST={}", op.largest ? 1 : 0)},
            {}};
  }
  TopKInstance(const ops::TopK& op, const Types& types, const Module& module)
      : op_(op),
        walkOne_(module.function("tenon_topk_walk_one")),
        walkFew_(module.function("tenon_topk_walk_few")),
        select_(module.function("tenon_topk_select")),
        selectAgain_(module.function("tenon_topk_select_again")),
        keys_(module.function("tenon_topk_keys")),
        upperKeys_(module.function("tenon_topk_upper_keys")),
        write_(module.function("tenon_topk_write")),
        sort_(module),
        isWide_(bits(types.inputs.at(0)) == 64) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    auto& p = parameters_;
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + x.dims.rank : op_.axis);
    const auto from = stridesOf(x.dims, x.layout);
    const auto to = stridesOf(y.dims, y.layout);
    p.extent = x.dims[static_cast<int>(axis)];
    p.k = y.dims[static_cast<int>(axis)];
    checkUser(p.k >= 0 && p.k <= p.extent, "topk: k = {} exceeds axis {} of extent {}", p.k, axis, p.extent);
    checkUser(p.extent < std::numeric_limits<uint32_t>::max() - 1,
              "topk: a row of {} elements exceeds the limit of 2^32 - 3", p.extent);
    p.xStride = from[axis];
    p.yStride = to[axis];
    setSpace(p.lines, splitAxes(x.dims, axisMask({op_.axis}, x.dims.rank), {to, from}).kept);
    checkUser(!isWide(p.lines), "topk: {} rows exceed the limit of 2^31", p.lines.count);
    count_ = y.dims.count();
    return count_ == 0 ? 0 : chooseWay();
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    auto& p = parameters_;
    p.x = arguments.inputs[0];
    p.values = arguments.outputs[0];
    p.indices = arguments.outputs[1];
    p.firstLine = 0;
    if (way_ == Way::kWalk) {
      launchThreads(p.k == 1 ? walkOne_ : walkFew_, p.lines.count, &p, arguments.stream);
      return;
    }
    for (; p.firstLine < p.lines.count; p.firstLine += linesAtOnce_) {
      const int64_t lines = std::min(linesAtOnce_, p.lines.count - p.firstLine);
      if (way_ == Way::kSelect) select(lines, arguments);
      else sort(lines, arguments);
    }
  }

 private:
  enum class Way { kWalk, kSelect, kSort };

  int64_t entryBytes() const { return isWide_ ? 16 : 8; }

  // The workspace.
  size_t chooseWay() {
    auto& p = parameters_;
    const bool isShort = p.extent <= 64 && p.lines.count >= 2048;
    const bool isAcross = p.xStride != 1 && p.extent <= 4096 && p.lines.count >= 16384;
    way_ = p.k * entryBytes() <= kMostSelectedBytes ? Way::kSelect : Way::kSort;
    if (p.k <= kMostOfThread && (isShort || isAcross)) way_ = Way::kWalk;
    if (way_ == Way::kWalk) return 0;
    int64_t ofLine = 0;
    if (way_ == Way::kSelect) {
      const int64_t once = p.extent <= kMostOfBlock ? 0 : keptOf(p.extent);
      const int64_t twice = once <= kMostOfBlock ? 0 : keptOf(once);
      rooms_[0] = once;
      rooms_[1] = twice;
      ofLine = (once + twice) * entryBytes();
    } else {
      p.capacity = sort_.configure(1, p.extent);
      ofLine = p.capacity * static_cast<int64_t>(sizeof(uint64_t)) * (isWide_ ? 2 : 1);
    }
    linesAtOnce_ = ofLine == 0 ? p.lines.count : std::clamp<int64_t>(kMostWorkspace / ofLine, 1, p.lines.count);
    const auto everything = static_cast<double>(ofLine) * static_cast<double>(p.lines.count);
    if (everything <= static_cast<double>(kMostWorkspace)) return static_cast<size_t>(ofLine * p.lines.count);
    return static_cast<size_t>(std::max(ofLine, kMostWorkspace));
  }
  // How many of so many elements are left when each block has chosen.
  int64_t keptOf(int64_t count) const {
    const int64_t whole = count / kMostOfBlock;
    return whole * parameters_.k + std::min(parameters_.k, count - whole * kMostOfBlock);
  }

  void select(int64_t lines, const runtime::LaunchArguments& arguments) {
    auto& p = parameters_;
    auto* const memory = static_cast<std::byte*>(arguments.workspace);
    p.count = p.extent;
    for (int level = 0;; ++level) {
      p.to = memory + (level % 2 == 0 ? 0 : linesAtOnce_ * rooms_[0] * entryBytes());
      p.toRoom = rooms_[static_cast<size_t>(level % 2)];
      p.chunk = std::min(p.count, kMostOfBlock);
      p.chunks = ceilDiv(p.count, kMostOfBlock);
      // Many lines keep the chip busy with few threads each.
      const int64_t ofThread = lines * p.chunks >= 512 ? kTopKItems : 4;
      const int64_t threads = std::clamp<int64_t>(ceilDiv(p.chunk, ofThread * 32) * 32, 32, kTopKThreads);
      launchGrid(level == 0 ? select_ : selectAgain_, gridOf(lines * p.chunks), 1, 1, static_cast<unsigned>(threads),
                 &p, arguments.stream);
      if (p.chunks == 1) return;
      p.count = keptOf(p.count);
      p.from = p.to;
      p.fromRoom = p.toRoom;
    }
  }

  void sort(int64_t lines, const runtime::LaunchArguments& arguments) {
    auto& p = parameters_;
    sort_.configure(lines, p.extent);
    p.chunks = lines;
    p.ranks = nullptr;
    p.keys = static_cast<uint64_t*>(arguments.workspace);
    launchThreads(keys_, lines * p.extent, &p, arguments.stream);
    sort_.launch(p.keys, nullptr, arguments.stream);
    if (isWide_) {
      p.ranks = p.keys;
      p.keys += linesAtOnce_ * p.capacity;
      launchThreads(upperKeys_, lines * p.extent, &p, arguments.stream);
      sort_.launch(p.keys, nullptr, arguments.stream);
    }
    launchThreads(write_, lines * p.k, &p, arguments.stream);
  }

  static constexpr int64_t kMostOfBlock = int64_t{kTopKThreads} * kTopKItems;

  const ops::TopK& op_;
  CUfunction walkOne_;
  CUfunction walkFew_;
  CUfunction select_;
  CUfunction selectAgain_;
  CUfunction keys_;
  CUfunction upperKeys_;
  CUfunction write_;
  KeySort sort_;
  bool isWide_;
  Way way_ = Way::kSelect;
  int64_t linesAtOnce_ = 1;
  std::array<int64_t, 2> rooms_{};  // of the lists of a line, in turns
  int64_t count_ = 0;
  TopKParameters parameters_;
};

}  // namespace

KernelRow kernelRow_topk() { return ownRow<ops::TopK, TopKInstance>("topk", 2); }

}  // namespace tenon::backends::cuda
