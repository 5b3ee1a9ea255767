// Launches of concatenations, with an expression over the elements or without.
#pragma once

#include <algorithm>
#include <optional>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/concat/concat_parameters.h"
#include "backends/cuda/kernels/movement/strided_copy.h"

namespace tenon::backends::cuda {

constexpr int64_t kConcatThreads = 256;      // of a block, at most
constexpr int64_t kManyConcatBlocks = 1024;  // that keep a large chip busy without several rows for each thread

// Up to kMostParts parts of the rows of one tensor.
struct ConcatLaunch {
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
    const int64_t tiles = (columns + kConcatThreads - 1) / kConcatThreads;
    const int64_t lanes = (columns + tiles - 1) / tiles;
    const int64_t atOnce = std::min(kConcatThreads / lanes, p.rows);
    const auto blocksFor = [&](int64_t rows) { return tiles * ((p.rows + rows - 1) / rows); };
    const int64_t ofThread = blocksFor(atOnce * kMostRows) >= kManyConcatBlocks ? kMostRows : 1;
    blocks = blocksFor(atOnce * ofThread);
    checkInternal(blocks < int64_t{1} << 31, "a concatenation of {} rows of {} exceeds the grid", p.rows, columns);
    threads = static_cast<unsigned>((lanes * atOnce + 31) / 32 * 32);
    p.tiles = dividerBy(tiles);
    p.lanes = static_cast<int32_t>(lanes);
    p.rowsAtOnce = static_cast<int32_t>(atOnce);
    p.rowsOfThread = static_cast<int32_t>(ofThread);
  }
};

// Inputs: `parts` that are copied, then the operands of an expression over them. The module, which outlives this, has
// kernels tenon_concat_<bytes> and, without operands, those of a StridedCopy, for constants whose order is not the
// result's.
class ConcatInstance : public runtime::KernelInstance {
 public:
  // Without `parts` every input is one: a step may copy some parts of a concatenation alone, where the others stand in
  // their places.
  ConcatInstance(int64_t axis, std::optional<size_t> parts, const Module& module)
      : axis_(axis), given_(parts), module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    count_ = given_.value_or(shapes.inputs.size());
    const auto& y = shapes.outputs[0];
    const auto to = stridesOf(y.dims, y.layout);
    const auto axis = static_cast<size_t>(axis_ < 0 ? axis_ + y.dims.rank : axis_);
    bytes_ = bits(y.dtype) / 8;
    pitch_ = to[axis] * y.dims[static_cast<int>(axis)];
    rows_ = y.dims.count() == 0 ? 0 : y.dims.count() / pitch_;
    parts_.clear();
    moved_.clear();
    int64_t at = 0;
    for (size_t i = 0; i < count_; ++i) {
      const auto& x = shapes.inputs[i];
      const int64_t extent = x.dims[static_cast<int>(axis)];
      const auto from = stridesOf(x.dims, x.layout);
      if (x.dims.count() > 0 && from == stridesOf(x.dims, y.layout)) {
        parts_.push_back({i, at * to[axis], extent * to[axis]});
      } else if (x.dims.count() > 0) {
        moved_.emplace_back(i, StridedCopy{});
        moved_.back().second.configure(module_, x.dims, from, 0, to, at * to[axis], bytes_);
      }
      at += extent;
    }
    inner_ = to[axis];
    steps_ = 0;
    operands_ = shapes.inputs.size() - count_;
    checkInternal(operands_ == 0 || (operands_ <= kMostConcatOperands && pitch_ < int64_t{1} << 31),
                  "a concatenation with {} operands and rows of {}", operands_, pitch_);
    for (size_t k = 0; k < operands_; ++k) steps_ |= shapes.inputs[count_ + k].dims.count() > 1 ? 1 << k : 0;
    for (int unit = bytes_; unit <= 16; unit *= 2)
      functions_[unit] = module_.function(fmt::format("tenon_concat_{}", unit));
    launches_.clear();
    launches_.reserve(parts_.size() / kMostParts + kUnits);  // each unit leaves one that is not full
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    arrange(arguments);
    for (auto& launch : launches_) {
      for (int k = 0; k < launch.parameters.parts; ++k) launch.parameters.from[k] = arguments.inputs[launch.inputs[k]];
      launch.parameters.to = arguments.outputs[0];
      for (size_t k = 0; k < operands_; ++k) launch.parameters.operand[k] = arguments.inputs[count_ + k];
      launchGrid(launch.function, static_cast<unsigned>(launch.blocks), 1, 1, launch.threads, &launch.parameters,
                 arguments.stream);
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
    const auto fits = [&](int64_t bytes) { return bytes % unit == 0; };
    const auto whole = [&] {
      // A pack has one index of the axis, or its elements have neighbouring ones: then it reads packs of the operands.
      bool operands = operands_ == 0 || inner_ == 1 || fits(inner_ * bytes_);
      for (size_t k = 0; k < operands_; ++k)
        operands =
            operands && isAligned(arguments.inputs[count_ + k], static_cast<size_t>(inner_ == 1 ? unit : bytes_));
      return operands && fits(part.place * bytes_) && (rows_ == 1 || fits(pitch_ * bytes_));
    };
    while (unit > bytes_ && !whole()) unit /= 2;
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

  void add(ConcatLaunch& launch, const Part& part) const {
    auto& p = launch.parameters;
    launch.function = functions_[part.unit];
    launch.inputs[p.parts] = part.input;
    p.rows = rows_;
    p.pitch = pitch_ * bytes_ / part.unit;
    p.inner = dividerBy(inner_ * bytes_ / part.unit);
    p.eachOwn = inner_ == 1 ? 1 : 0;
    p.steps = steps_;
    p.place[p.parts] = part.place * bytes_ / part.unit;
    p.begin[p.parts + 1] = p.begin[p.parts] + part.length * bytes_ / part.unit;
    ++p.parts;
  }

  const int64_t axis_;
  const std::optional<size_t> given_;
  size_t count_ = 0;  // of the parts
  const Module& module_;
  size_t operands_ = 0;
  int32_t steps_ = 0;  // as the kernel takes it
  int64_t inner_ = 1;  // elements that have one index of the axis
  int bytes_ = 1;
  int64_t rows_ = 0, pitch_ = 0;   // of the result, in the order of memory
  std::vector<Part> parts_;        // that are in the order of the result
  CUfunction functions_[17] = {};  // by unit
  std::vector<ConcatLaunch> launches_;
  std::vector<std::pair<size_t, StridedCopy>> moved_;  // the others
};

}  // namespace tenon::backends::cuda
