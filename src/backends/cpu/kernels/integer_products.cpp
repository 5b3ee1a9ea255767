// Sums of products of two integer tensors, of which none is written: products of matrices and of vectors.
#include <algorithm>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/pointwise_reduce.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/integer_product_simd.h"
#include "core/error.h"

namespace tenon::backends::cpu {
namespace {

class IntegerProductsInstance final : public runtime::KernelInstance {
 public:
  explicit IntegerProductsInstance(const ops::PointwiseReduce& op) : op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    functions_ = integerProducts(y.dtype);
    if (functions_.line == nullptr || shapes.inputs.size() != 2)
      throw Unsupported("cpu.integer_products: {} inputs, a result of {}", shapes.inputs.size(), name(y.dtype));
    bytes_ = bits(y.dtype) / 8;
    loops_ = PointwiseReduceLoops(op_, shapes.inputs, y);
    outputs_ = y.dims.count();
    reduced_ = 1;
    for (const int64_t extent : loops_.reduced.extents) reduced_ *= extent;
    const auto isLine = [](int64_t step) { return step == 0 || step == 1; };
    const int64_t first = loops_.kept.strides[1].back();
    const int64_t second = loops_.kept.strides[2].back();
    byColumns_ = isLine(first) && isLine(second) && first + second > 0 && loops_.kept.inner() >= kFewColumns;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (outputs_ == 0) return;
    const int64_t inner = loops_.kept.inner();
    const int64_t blocks = (inner + kBlock - 1) / kBlock;
    runJobs(loops_.kept.outer() * blocks, outputs_ * std::max<int64_t>(reduced_, 1) * 2, [&](int64_t job) {
      const int64_t first = job % blocks * kBlock;
      const int64_t count = std::min(kBlock, inner - first);
      int64_t offsets[3];
      loops_.kept.offsets(job / blocks, offsets);
      int64_t sums[kBlock] = {};
      for (int64_t row = 0; reduced_ > 0 && row < loops_.reduced.outer(); ++row) {
        int64_t places[3];
        loops_.reduced.offsets(row, places);
        const auto operand = [&](size_t k) {
          const int64_t column = loops_.kept.strides[k].back();
          const int64_t at = offsets[k] + places[k] + first * column;
          return ProductOperand{static_cast<const char*>(arguments.inputs[k - 1]) + at * bytes_,
                                loops_.reduced.strides[k].back(), column};
        };
        add(operand(1), operand(2), count, sums);
      }
      const int64_t step = loops_.kept.strides[0].back();
      functions_.store(sums, static_cast<size_t>(count),
                       static_cast<char*>(arguments.outputs[0]) + (offsets[0] + first * step) * bytes_, step);
    });
  }

 private:
  static constexpr auto kBlock = static_cast<int64_t>(kProductColumns);
  static constexpr int64_t kFewColumns = 8;

  void add(ProductOperand a, ProductOperand b, int64_t count, int64_t* sums) const {
    const auto depth = static_cast<size_t>(loops_.reduced.inner());
    if (byColumns_) return functions_.columns(a, b, depth, static_cast<size_t>(count), sums);
    for (int64_t j = 0; j < count; ++j) {
      sums[j] =
          static_cast<int64_t>(static_cast<uint64_t>(sums[j]) + static_cast<uint64_t>(functions_.line(a, b, depth)));
      a.at = static_cast<const char*>(a.at) + a.column * bytes_;
      b.at = static_cast<const char*>(b.at) + b.column * bytes_;
    }
  }

  ops::PointwiseReduce op_;
  IntegerProducts functions_;
  PointwiseReduceLoops loops_;
  int64_t bytes_ = 4, outputs_ = 0, reduced_ = 1;
  bool byColumns_ = false;  // sums side by side; else one after another
};

}  // namespace

KernelRow kernelRow_integer_products() {
  return {"integer_products", 1, &loadSimple<ops::PointwiseReduce, IntegerProductsInstance>};
}

}  // namespace tenon::backends::cpu
