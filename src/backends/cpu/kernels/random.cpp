// Random numbers, in pieces of whole blocks.
#include "ops/op/random.h"

#include <algorithm>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/simd/random_simd.h"
#include "core/platform/threads.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kPiece = 1 << 14;  // numbers, a multiple of four

class RandomInstance final : public runtime::KernelInstance {
 public:
  explicit RandomInstance(const ops::Random& op) : op_(op), fill_(uniformFunction()) {}

  size_t configure(const runtime::Shapes& shapes) override {
    count_ = shapes.outputs[0].dims.count();
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto [key, place] = op_.draw();
    auto* const out = static_cast<float*>(arguments.outputs[0]);
    platform::parallelFor((count_ + kPiece - 1) / kPiece, 1,
                          [this, out, key = key, place = place](int64_t begin, int64_t end) {
                            const int64_t first = begin * kPiece;
                            const int64_t many = std::min(end * kPiece, count_) - first;
                            fill_(key, place, static_cast<uint64_t>(first / 4), out + first, static_cast<size_t>(many));
                          });
  }

 private:
  ops::Random op_;
  UniformFunction fill_;
  int64_t count_ = 0;
};

}  // namespace

KernelRow kernelRow_random() { return {"random", 1, &loadSimple<ops::Random, RandomInstance>}; }

}  // namespace tenon::backends::cpu
