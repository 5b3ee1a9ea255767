// Bits of one type as those of another: bytes copied.
#include "ops/op/bitcast.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "core/platform/threads.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kPiece = int64_t{1} << 16;  // bytes that a thread is worth waking for

class BitCastInstance final : public runtime::KernelInstance {
 public:
  explicit BitCastInstance(const ops::BitCast& op) : toTruth_(op.type == DataType::kBool) {}
  size_t configure(const runtime::Shapes& shapes) override {
    bytes_ = shapes.inputs[0].dims.count() * bits(shapes.inputs[0].dtype) / 8;
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* const from = static_cast<const uint8_t*>(arguments.inputs[0]);
    auto* const to = static_cast<uint8_t*>(arguments.outputs[0]);
    platform::parallelFor(bytes_, kPiece, [&](int64_t begin, int64_t end) {
      if (!toTruth_) {
        std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
        return;
      }
      for (int64_t i = begin; i < end; ++i) to[i] = from[i] != 0 ? 1 : 0;
    });
  }

 private:
  bool toTruth_;
  int64_t bytes_ = 0;
};

}  // namespace

KernelRow kernelRow_bitcast() { return {"bitcast", 1, &loadSimple<ops::BitCast, BitCastInstance>}; }

}  // namespace tenon::backends::cpu
