// Gather along one axis: rows are copied; channels of channels-last tensors are picked pixel by pixel.
#include "ops/op/gather.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

// to[i * Parts + p] = from[p * part + i]: a channel shuffle or some of one, in a form that compilers make vectors of.
template <int Parts>
void interleave(const uint32_t* __restrict from, uint32_t* __restrict to, int64_t count, int64_t part) {
  for (int64_t i = 0; i < count; ++i) {
    for (int p = 0; p < Parts; ++p) to[i * Parts + p] = from[p * part + i];
  }
}

class GatherInstance final : public runtime::KernelInstance {
 public:
  explicit GatherInstance(const ops::Gather& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& data = shapes.inputs[0];
    const auto& indices = shapes.inputs[1];
    const int rank = data.dims.rank;
    const int axis = static_cast<int>(op_.axis < 0 ? op_.axis + rank : op_.axis);
    indexType_ = indices.dtype;
    outer_ = data.dims.count(0, axis);
    extent_ = data.dims[axis];
    rowBytes_ = data.dims.count(axis + 1, rank) * (bits(data.dtype) / 8);
    picks_ = indices.dims.count();
    if (data.layout == Layout::kChannelsLast && axis == 1) {
      outer_ = data.dims[0] * data.dims.count(2, rank);
      rowBytes_ = bits(data.dtype) / 8;
    }
    fromStep_ = extent_;
    toStep_ = picks_;
    if (data.pitch != 0) fromStep_ = data.pitch;
    if (shapes.outputs[0].pitch != 0) toStep_ = shapes.outputs[0].pitch;
    indices_.resize(static_cast<size_t>(picks_));
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* in = static_cast<const char*>(arguments.inputs[0]);
    auto* out = static_cast<char*>(arguments.outputs[0]);
    for (int64_t k = 0; k < picks_; ++k) {
      int64_t index = loadInt(indexType_, arguments.inputs[1], k);
      checkUser(index >= -extent_ && index < extent_, "gather: index {} is outside [{}, {})", index, -extent_, extent_);
      indices_[static_cast<size_t>(k)] = index < 0 ? index + extent_ : index;
    }
    if (rowBytes_ == 4) {
      const int64_t parts = interleavedParts();
      const int64_t part = parts == 0 ? 0 : indices_[1] - indices_[0];
      runJobs(outer_, outer_ * picks_, [&](int64_t o) {
        const auto* from = reinterpret_cast<const uint32_t*>(in) + o * fromStep_;
        auto* to = reinterpret_cast<uint32_t*>(out) + o * toStep_;
        if (parts == 2) return interleave<2>(from + indices_[0], to, picks_ / 2, part);
        if (parts == 3) return interleave<3>(from + indices_[0], to, picks_ / 3, part);
        if (parts == 4) return interleave<4>(from + indices_[0], to, picks_ / 4, part);
        for (const int64_t index : indices_) *to++ = from[index];
      });
      return;
    }
    runJobs(outer_, outer_ * picks_ * std::max<int64_t>(1, rowBytes_ / 16), [&](int64_t o) {
      char* to = out + o * toStep_ * rowBytes_;
      for (const int64_t index : indices_) {
        std::memcpy(to, in + (o * fromStep_ + index) * rowBytes_, static_cast<size_t>(rowBytes_));
        to += rowBytes_;
      }
    });
  }

 private:
  // How many runs of the axis, equally far apart, the indices take turns in; 0 when they do something else.
  int64_t interleavedParts() const {
    constexpr int64_t kMost = 4;
    if (picks_ < 4) return 0;
    const int64_t first = indices_[0];
    int64_t parts = 2;
    while (parts < std::min(kMost + 1, picks_) && indices_[static_cast<size_t>(parts)] != first + 1) ++parts;
    if (parts > kMost || picks_ % parts != 0) return 0;
    const int64_t part = indices_[1] - first;
    for (int64_t k = 0; k < picks_; ++k) {
      if (indices_[static_cast<size_t>(k)] != first + k % parts * part + k / parts) return 0;
    }
    return parts;
  }

  ops::Gather op_;
  DataType indexType_ = DataType::kI32;
  int64_t outer_ = 1;
  int64_t extent_ = 1;
  int64_t rowBytes_ = 4;
  int64_t picks_ = 0;
  int64_t fromStep_ = 1, toStep_ = 0;  // elements of rowBytes_ from one outer index to the next
  std::vector<int64_t> indices_;
};

}  // namespace

KernelRow kernelRow_gather() { return {"gather", 1, &loadSimple<ops::Gather, GatherInstance>}; }

}  // namespace tenon::backends::cpu
