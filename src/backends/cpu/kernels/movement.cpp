// Transpose, slice, concatenation and reformat as strided copies.
#include <array>
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pitch.h"
#include "backends/cpu/kernels/common/strided_copy.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "core/relayout.h"
#include "core/storage.h"
#include "ops/op/concat.h"
#include "ops/op/reformat.h"
#include "ops/op/slice.h"
#include "ops/op/transpose.h"

namespace tenon::backends::cpu {
namespace {

using runtime::Shapes;
using runtime::TensorShape;

int elementBytes(DataType type) { return bits(type) / 8; }

void configureCopy(StridedCopy& copy, const ops::Transpose& op, const Shapes& shapes) {
  const auto& x = shapes.inputs[0];
  const auto& y = shapes.outputs[0];
  const auto own = pitchedStrides(x);
  Strides from{};
  for (size_t i = 0; i < op.permutation.size(); ++i) from[i] = own[static_cast<size_t>(op.permutation[i])];
  copy.configure(y.dims, from, 0, pitchedStrides(y), 0, elementBytes(x.dtype));
}

template <typename Op>
class CopyInstance final : public runtime::KernelInstance {
 public:
  explicit CopyInstance(const Op& op) : op_(op) {}
  size_t configure(const Shapes& shapes) override {
    configureCopy(copy_, op_, shapes);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    copy_.run(arguments.inputs[0], arguments.outputs[0]);
  }

 private:
  Op op_;
  StridedCopy copy_;
};

// Layouts that neither pad nor lie within other tensors need one copy; others one for each part of whole blocks, and
// zeros where the result pads.
class ReformatInstance final : public runtime::KernelInstance {
 public:
  explicit ReformatInstance(const ops::Reformat&) {}

  size_t configure(const Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    copies_.clear();
    padded_ = 0;
    if (x.pitch != 0 || y.pitch != 0) {
      const int64_t block = std::max(channelBlock(x.layout), channelBlock(y.layout));
      if (y.dims[1] % block != 0)
        throw Unsupported("cpu.movement: {} channels in blocks of {} within another tensor", y.dims[1], block);
      copies_.emplace_back().configure(splitChannels(y.dims, block), pitchedWithinSplit(x, y.dims, block), 0,
                                       pitchedWithinSplit(y, y.dims, block), 0, elementBytes(x.dtype));
      return 0;
    }
    for (const auto& region : relayout(x.dims, x.layout, y.layout)) {
      copies_.emplace_back().configure(region.space, region.from, region.fromOffset, region.to, region.toOffset,
                                       elementBytes(x.dtype));
    }
    const auto bytes = storageBytes(y.dtype, y.dims, y.layout);
    if (bytes != storageBytes(y.dtype, y.dims, Layout::kLinear)) padded_ = static_cast<int64_t>(bytes);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    constexpr int64_t kGrain = 1 << 17;
    auto* const to = static_cast<char*>(arguments.outputs[0]);
    platform::parallelFor(padded_, kGrain, [&](int64_t begin, int64_t end) {
      std::memset(to + begin, 0, static_cast<size_t>(end - begin));
    });
    for (const auto& copy : copies_) copy.run(arguments.inputs[0], to);
  }

 private:
  std::vector<StridedCopy> copies_;
  int64_t padded_ = 0;  // bytes of a result with padding; else 0
};

class ConcatInstance final : public runtime::KernelInstance {
 public:
  explicit ConcatInstance(const ops::Concat& op) : op_(op) {}
  size_t configure(const Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    const int64_t block = channelBlock(y.layout);
    const int axis = op_.axis < 0 ? op_.axis + y.dims.rank : op_.axis;
    const auto to = pitchedWithinSplit(y, y.dims, block);
    const int64_t step = block == 1 || axis < 2 ? to[static_cast<size_t>(axis)] : to[static_cast<size_t>(axis) + 1];
    copies_.assign(shapes.inputs.size(), {});
    int64_t at = 0;
    for (size_t i = 0; i < copies_.size(); ++i) {
      const auto& x = shapes.inputs[i];
      const auto from = pitchedWithinSplit(x, x.dims, block);
      copies_[i].configure(splitChannels(x.dims, block), from, 0, to, at / (axis == 1 ? block : 1) * step,
                           elementBytes(y.dtype));
      at += x.dims[axis];
    }
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    for (size_t i = 0; i < copies_.size(); ++i) copies_[i].run(arguments.inputs[i], arguments.outputs[0]);
  }

 private:
  ops::Concat op_;
  std::vector<StridedCopy> copies_;
};

// The part inside the input is copied; for mode fill the rest is written first.
class SliceInstance final : public runtime::KernelInstance {
 public:
  explicit SliceInstance(const ops::Slice& op) : op_(op) {}

  size_t configure(const Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const auto value = [&](const Extent& e) { return e.isConstant() ? e.constant() : e.evaluate(*shapes.symbols); };
    const auto own = pitchedStrides(x);
    const auto to = pitchedStrides(y);
    Dims space;
    Strides from{};
    int64_t fromOffset = 0;
    int64_t toOffset = 0;
    for (int axis = 0; axis < y.dims.rank; ++axis) {
      const auto at = static_cast<size_t>(axis);
      const int64_t start = value(op_.start[at]);
      const int64_t stride = op_.stride.empty() ? 1 : value(op_.stride[at]);
      // Output positions whose input index lies in [0, extent).
      int64_t first = 0;
      int64_t last = y.dims[axis];
      while (first < last && outside(start + first * stride, x.dims[axis])) ++first;
      while (last > first && outside(start + (last - 1) * stride, x.dims[axis])) --last;
      space.push(last - first);
      from[at] = last - first > 1 ? own[at] * stride : 0;  // strides that nothing takes may be of any size
      if (last > first) fromOffset += (start + first * stride) * own[at];
      toOffset += first * to[at];
      first_[at] = first;
      end_[at] = last;
    }
    fills_ = !(space == y.dims);
    hasFill_ = shapes.inputs.size() > 1;
    bytes_ = elementBytes(y.dtype);
    extents_ = y.dims;
    orderAxes(y.layout);
    joinWholeAxes();
    fillsEndsOnly_ = isRowMajor_;
    for (int axis = 0; axis + 1 < extents_.rank; ++axis) {
      const auto at = static_cast<size_t>(axis);
      fillsEndsOnly_ = fillsEndsOnly_ && first_[at] == 0 && end_[at] == extents_[axis];
    }
    copy_.configure(space, from, fromOffset, to, toOffset, bytes_);
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (fills_) fill(hasFill_ ? arguments.inputs[1] : nullptr, static_cast<char*>(arguments.outputs[0]));
    copy_.run(arguments.inputs[0], arguments.outputs[0]);
  }

 private:
  static bool outside(int64_t index, int64_t extent) { return index < 0 || index >= extent; }

  // Axes in the order of memory, where it is one of axes.
  void orderAxes(Layout layout) {
    isRowMajor_ = layout == Layout::kLinear || layout == Layout::kChannelsLast;
    if (layout != Layout::kChannelsLast) return;
    Dims ordered;
    for (int axis = 0; axis < extents_.rank; ++axis) {
      if (axis != 1) ordered.push(extents_[axis]);
    }
    ordered.push(extents_[1]);
    extents_ = ordered;
    const auto rank = static_cast<size_t>(extents_.rank);
    std::rotate(first_.begin() + 1, first_.begin() + 2, first_.begin() + rank);
    std::rotate(end_.begin() + 1, end_.begin() + 2, end_.begin() + rank);
  }

  // Axes at the end that are copied whole belong to the rows of the one before them.
  void joinWholeAxes() {
    while (isRowMajor_ && extents_.rank > 1) {
      const auto last = static_cast<size_t>(extents_.rank - 1);
      const int64_t extent = extents_[extents_.rank - 1];
      if (first_[last] != 0 || end_[last] != extent) return;
      Dims joined;
      for (size_t axis = 0; axis + 1 < last; ++axis) joined.push(extents_[static_cast<int>(axis)]);
      joined.push(extents_[static_cast<int>(last) - 1] * extent);
      extents_ = joined;
      first_[last - 1] *= extent;
      end_[last - 1] *= extent;
    }
  }

  // What lies outside the part that is copied: whole rows, or the ends of one. All where axes lie in another order.
  void fill(const void* value, char* to) const {
    switch (bytes_) {
      case 1: return fillWith<uint8_t>(value, to);
      case 2: return fillWith<uint16_t>(value, to);
      case 4: return fillWith<uint32_t>(value, to);
      default: return fillWith<uint64_t>(value, to);
    }
  }

  template <typename T>
  void fillWith(const void* value, char* to) const {
    T element{};
    if (value != nullptr) std::memcpy(&element, value, sizeof element);
    const int last = extents_.rank - 1;
    const int64_t width = extents_[last];
    constexpr int64_t kGrain = 1 << 15;
    platform::parallelFor(extents_.count(0, last), std::max<int64_t>(1, kGrain / std::max<int64_t>(1, width)),
                          [&](int64_t begin, int64_t end) {
                            constexpr size_t kShort = 128;  // bytes of a row, of which a part is not worth finding
                            if (static_cast<size_t>(width) * sizeof(T) <= kShort) {
                              T* const all = reinterpret_cast<T*>(to);
                              return std::fill(all + begin * width, all + end * width, element);
                            }
                            if (fillsEndsOnly_) return fillEnds(element, reinterpret_cast<T*>(to), begin, end);
                            std::array<int64_t, kMaxRank> index = indexOf(begin);
                            for (int64_t row = begin; row < end; ++row, next(index)) {
                              T* const out = reinterpret_cast<T*>(to) + row * width;
                              const bool inside = isRowMajor_ && isInside(index);
                              std::fill(out, out + (inside ? first_[static_cast<size_t>(last)] : width), element);
                              if (inside) std::fill(out + end_[static_cast<size_t>(last)], out + width, element);
                            }
                          });
  }

  // Of rows that all have a part that is copied.
  template <typename T>
  void fillEnds(T element, T* to, int64_t begin, int64_t end) const {
    const auto last = static_cast<size_t>(extents_.rank - 1);
    const int64_t width = extents_[extents_.rank - 1], first = first_[last], from = end_[last];
    for (T* out = to + begin * width; begin < end; ++begin, out += width) {
      for (int64_t i = 0; i < first; ++i) out[i] = element;
      for (int64_t i = from; i < width; ++i) out[i] = element;
    }
  }

  // Where a row stands on the axes but the last.
  std::array<int64_t, kMaxRank> indexOf(int64_t row) const {
    std::array<int64_t, kMaxRank> index{};
    for (int axis = extents_.rank - 2; axis >= 0; --axis) {
      index[static_cast<size_t>(axis)] = row % extents_[axis];
      row /= extents_[axis];
    }
    return index;
  }
  void next(std::array<int64_t, kMaxRank>& index) const {
    for (int axis = extents_.rank - 2; axis >= 0; --axis) {
      const auto at = static_cast<size_t>(axis);
      if (++index[at] < extents_[axis]) return;
      index[at] = 0;
    }
  }
  bool isInside(const std::array<int64_t, kMaxRank>& index) const {
    for (int axis = extents_.rank - 2; axis >= 0; --axis) {
      const auto at = static_cast<size_t>(axis);
      if (index[at] < first_[at] || index[at] >= end_[at]) return false;
    }
    return true;
  }

  ops::Slice op_;
  StridedCopy copy_;
  bool fills_ = false;
  bool hasFill_ = false;
  int bytes_ = 4;
  Dims extents_;
  bool isRowMajor_ = true;  // extents_ are in the order of memory
  bool fillsEndsOnly_ = false;
  std::array<int64_t, kMaxRank> first_{}, end_{};  // of what is copied, by axis
};

// One row serves the four operators: the record's operator decides.
std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  if (op.as<ops::Transpose>() != nullptr) return loadSimple<ops::Transpose, CopyInstance<ops::Transpose>>(request);
  if (op.as<ops::Reformat>() != nullptr) return loadSimple<ops::Reformat, ReformatInstance>(request);
  if (op.as<ops::Concat>() != nullptr) return loadSimple<ops::Concat, ConcatInstance>(request);
  return loadSimple<ops::Slice, SliceInstance>(request);
}

}  // namespace

KernelRow kernelRow_movement() { return {"movement", 1, &load}; }

}  // namespace tenon::backends::cpu
