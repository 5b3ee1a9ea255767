// Gather along one axis: rows are copied; channels of channels-last tensors are picked pixel by pixel.
#include "ops/op/gather.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

// What a pick costs, as runJobs counts: a row costs its bytes.
constexpr int64_t kPickWork = 8, kRowWork = 64;

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
    readIndices(arguments.inputs[1]);
    if (outer_ * picks_ * rowBytes_ == 0) return;
    const auto* const in = static_cast<const char*>(arguments.inputs[0]);
    auto* const out = static_cast<char*>(arguments.outputs[0]);
    switch (rowBytes_) {
      case 1: return elements<uint8_t>(in, out);
      case 2: return elements<uint16_t>(in, out);
      case 4: return words(in, out);
      case 8: return elements<uint64_t>(in, out);
      default: return rows(in, out);
    }
  }

 private:
  template <typename Index>
  bool readIndices(const Index* from) {
    bool outside = false;
    for (int64_t k = 0; k < picks_; ++k) {
      const int64_t index = from[k];
      outside |= index < -extent_ || index >= extent_;
      indices_[static_cast<size_t>(k)] = index + (index < 0 ? extent_ : 0);
    }
    return !outside;
  }

  void readIndices(const void* from) {
    const bool inside = indexType_ == DataType::kI32 ? readIndices(static_cast<const int32_t*>(from))
                                                     : readIndices(static_cast<const int64_t*>(from));
    for (int64_t k = 0; !inside && k < picks_; ++k) {
      const int64_t index = loadInt(indexType_, from, k);
      checkUser(index >= -extent_ && index < extent_, "gather: index {} is outside [{}, {})", index, -extent_, extent_);
    }
  }

  // Pieces of so many picks: body(outer index, first pick, end).
  template <typename Body>
  void eachPiece(int64_t most, int64_t work, Body body) const {
    const int64_t pieces = (picks_ + most - 1) / most;
    runJobs(outer_ * pieces, work, [&](int64_t job) {
      const int64_t first = job % pieces * most;
      body(job / pieces, first, std::min(picks_, first + most));
    });
  }

  template <typename T>
  void elements(const char* in, char* out) const {
    constexpr int64_t kPicks = 16384;
    eachPiece(kPicks, outer_ * picks_ * kPickWork, [&](int64_t o, int64_t first, int64_t end) {
      const T* const from = reinterpret_cast<const T*>(in) + o * fromStep_;
      T* const to = reinterpret_cast<T*>(out) + o * toStep_;
      for (int64_t k = first; k < end; ++k) to[k] = from[indices_[static_cast<size_t>(k)]];
    });
  }

  void words(const char* in, char* out) const {
    const int64_t parts = interleavedParts();
    if (parts == 0) return elements<uint32_t>(in, out);
    const int64_t part = indices_[1] - indices_[0];
    runJobs(outer_, outer_ * picks_ * 4, [&](int64_t o) {
      const auto* from = reinterpret_cast<const uint32_t*>(in) + o * fromStep_ + indices_[0];
      auto* to = reinterpret_cast<uint32_t*>(out) + o * toStep_;
      if (parts == 2) return interleave<2>(from, to, picks_ / 2, part);
      if (parts == 3) return interleave<3>(from, to, picks_ / 3, part);
      interleave<4>(from, to, picks_ / 4, part);
    });
  }

  void rows(const char* in, char* out) const {
    constexpr int64_t kBytes = 1 << 16;
    eachPiece(std::max<int64_t>(1, kBytes / rowBytes_), outer_ * picks_ * std::max<int64_t>(kRowWork, rowBytes_),
              [&](int64_t o, int64_t first, int64_t end) {
                const char* const from = in + o * fromStep_ * rowBytes_;
                char* const to = out + o * toStep_ * rowBytes_;
                for (int64_t k = first; k < end; ++k) {
                  std::memcpy(to + k * rowBytes_, from + indices_[static_cast<size_t>(k)] * rowBytes_,
                              static_cast<size_t>(rowBytes_));
                }
              });
  }

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
