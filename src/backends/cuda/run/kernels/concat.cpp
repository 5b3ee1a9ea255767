// Concatenation: all parts whose rows move in packs of one width by one launch.
#include "ops/op/concat.h"

#include <algorithm>

#include "backends/cuda/run/own_kernel.h"
#include "backends/cuda/run/strided_copy.h"

namespace tenon::backends::cuda {
namespace {

// Mirrors kernels/concat.cu.
constexpr int kMostParts = 64;
constexpr int kMostRows = 4;
struct ConcatParameters {
  void* to = nullptr;
  int64_t rows = 0, pitch = 0;
  const void* from[kMostParts] = {};
  int64_t place[kMostParts] = {};
  int64_t begin[kMostParts + 1] = {};
  Divider tiles;
  int32_t parts = 0, half = 0, lanes = 1, rowsAtOnce = 1, rowsOfThread = 1;
};

constexpr int64_t kThreads = 256;      // of a block, at most
constexpr int64_t kManyBlocks = 1024;  // that keep a large chip busy without several rows for each thread

// Up to kMostParts parts of the rows of one tensor.
struct Launch {
  ConcatParameters parameters;
  size_t inputs[kMostParts] = {};  // of the parts
  CUfunction function = nullptr;
  int64_t blocks = 0;
  unsigned threads = 0;

  // Once all parts are in.
  void arrange() {
    auto& p = parameters;
    p.half = 0;
    while (std::max(1, 2 * p.half) < p.parts) p.half = std::max(1, 2 * p.half);
    const int64_t columns = p.begin[p.parts];
    const int64_t tiles = (columns + kThreads - 1) / kThreads;
    const int64_t lanes = (columns + tiles - 1) / tiles;
    const int64_t atOnce = std::min(kThreads / lanes, p.rows);
    const auto blocksFor = [&](int64_t rows) { return tiles * ((p.rows + rows - 1) / rows); };
    const int64_t ofThread = blocksFor(atOnce * kMostRows) >= kManyBlocks ? kMostRows : 1;
    blocks = blocksFor(atOnce * ofThread);
    checkInternal(blocks < int64_t{1} << 31, "a concatenation of {} rows of {}", p.rows, columns);
    threads = static_cast<unsigned>((lanes * atOnce + 31) / 32 * 32);
    p.tiles = Divider(tiles);
    p.lanes = static_cast<int32_t>(lanes);
    p.rowsAtOnce = static_cast<int32_t>(atOnce);
    p.rowsOfThread = static_cast<int32_t>(ofThread);
  }
};

class ConcatInstance final : public runtime::KernelInstance {
 public:
  // Copies between strided views are for constants whose order is not the result's.
  static Code code(const ops::Concat&, const Types&) { return {"", {}, "#include \"copy.cu\"\n#include \"concat.cu\"\n"}; }
  ConcatInstance(const ops::Concat& op, const Types&, const Module& module) : op_(op), module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    const auto to = stridesOf(y.dims, y.format);
    const auto axis = static_cast<size_t>(op_.axis < 0 ? op_.axis + y.dims.rank : op_.axis);
    bytes_ = bits(y.dtype) / 8;
    pitch_ = to[axis] * y.dims[static_cast<int>(axis)];
    rows_ = y.dims.count() == 0 ? 0 : y.dims.count() / pitch_;
    parts_.clear();
    moved_.clear();
    int64_t at = 0;
    for (size_t i = 0; i < shapes.inputs.size(); ++i) {
      const auto& x = shapes.inputs[i];
      const int64_t extent = x.dims[static_cast<int>(axis)];
      const auto from = stridesOf(x.dims, x.format);
      if (x.dims.count() > 0 && from == stridesOf(x.dims, y.format)) {
        parts_.push_back({i, at * to[axis], extent * to[axis]});
      } else if (x.dims.count() > 0) {
        moved_.emplace_back(i, StridedCopy{});
        moved_.back().second.configure(module_, x.dims, from, 0, to, at * to[axis], bytes_);
      }
      at += extent;
    }
    for (int unit = bytes_; unit <= 16; unit *= 2) functions_[unit] = module_.function(fmt::format("tenon_concat_{}", unit));
    launches_.clear();
    launches_.reserve(parts_.size() / kMostParts + kUnits);  // each unit leaves one that is not full
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    arrange(arguments);
    for (auto& launch : launches_) {
      for (int k = 0; k < launch.parameters.parts; ++k) launch.parameters.from[k] = arguments.inputs[launch.inputs[k]];
      launch.parameters.to = arguments.outputs[0];
      launchGrid(launch.function, static_cast<unsigned>(launch.blocks), 1, 1, launch.threads, &launch.parameters, arguments.stream);
    }
    for (auto& [input, copy] : moved_) copy.launch(arguments.inputs[input], arguments.outputs[0], arguments.stream);
  }

 private:
  static constexpr size_t kUnits = 5;  // 1, 2, 4, 8, 16 bytes

  struct Part {
    size_t input;
    int64_t place, length;  // within a row of the result, in elements
    int64_t unit = 0;       // bytes that moved as one at the last launch
  };

  int64_t unitFor(const Part& part, const runtime::LaunchArguments& arguments) const {
    int64_t unit = unitOf(part.length * bytes_, bytes_, arguments.inputs[part.input], arguments.outputs[0]);
    while (unit > bytes_ && (part.place * bytes_ % unit != 0 || (rows_ > 1 && pitch_ * bytes_ % unit != 0))) unit /= 2;
    return unit;
  }

  // Anew where addresses allow other units than those of the last launch.
  void arrange(const runtime::LaunchArguments& arguments) {
    bool same = true;
    for (auto& part : parts_) {
      const int64_t unit = unitFor(part, arguments);
      same = same && part.unit == unit;
      part.unit = unit;
    }
    if (same) return;
    launches_.clear();
    for (int unit = 16; unit >= bytes_; unit /= 2) {
      bool open = false;  // the last launch is of this unit and has room
      for (const auto& part : parts_) {
        if (part.unit != unit) continue;
        if (!open) launches_.emplace_back();
        add(launches_.back(), part);
        open = launches_.back().parameters.parts < kMostParts;
      }
    }
    for (auto& launch : launches_) launch.arrange();
  }

  void add(Launch& launch, const Part& part) const {
    auto& p = launch.parameters;
    launch.function = functions_[part.unit];
    launch.inputs[p.parts] = part.input;
    p.rows = rows_;
    p.pitch = pitch_ * bytes_ / part.unit;
    p.place[p.parts] = part.place * bytes_ / part.unit;
    p.begin[p.parts + 1] = p.begin[p.parts] + part.length * bytes_ / part.unit;
    ++p.parts;
  }

  const ops::Concat& op_;
  const Module& module_;
  int bytes_ = 1;
  int64_t rows_ = 0, pitch_ = 0;  // of the result, in the order of memory
  std::vector<Part> parts_;       // that are in the order of the result
  CUfunction functions_[17] = {};  // by unit
  std::vector<Launch> launches_;
  std::vector<std::pair<size_t, StridedCopy>> moved_;  // the others
};

}  // namespace

KernelRow kernelRow_concat() { return ownRow<ops::Concat, ConcatInstance>("concat", 2); }

}  // namespace tenon::backends::cuda
