// Sums of products of two integer tensors, of which none is written: products of matrices and of vectors.
#include <algorithm>
#include <cstring>
#include <tuple>

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
    if (functions_.lines == nullptr || shapes.inputs.size() != 2)
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
    isMatrix_ = findMatrix();
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (outputs_ == 0) return;
    if (isMatrix_) return multiplyMatrices(arguments);
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
  static constexpr int64_t kFewRows = 4;
  static constexpr int64_t kResults = 2048;  // of a job
  static constexpr int64_t kRows = 64;       // of a job
  static constexpr int64_t kDepth = 128;     // that is brought together at once

  void add(ProductOperand a, ProductOperand b, int64_t count, int64_t* sums) const {
    const auto depth = static_cast<size_t>(loops_.reduced.inner());
    if (byColumns_) return functions_.columns(a, b, depth, static_cast<size_t>(count), sums);
    functions_.lines(a, b, depth, static_cast<size_t>(count), sums);
  }

  // Whether the innermost axis is the columns of one operand, and the sum has one axis; the rows of the other one, if
  // it has any, become the axis in front of it.
  bool findMatrix() {
    auto& space = loops_.kept;
    columnsOf_ = space.strides[1].back() == 0 ? 2 : 1;
    const auto& rows = space.strides[3 - columnsOf_];
    const auto& columns = space.strides[columnsOf_];
    if (loops_.reduced.outer() != 1 || space.strides[0].back() != 1 || rows.back() != 0 || columns.back() == 0)
      return false;
    size_t found = space.extents.size();
    for (size_t axis = 0; axis + 1 < space.extents.size(); ++axis) {
      const bool isRows = columns[axis] == 0 && rows[axis] != 0;
      if (isRows && (found == space.extents.size() || space.extents[axis] > space.extents[found])) found = axis;
    }
    rows_ = found < space.extents.size() ? space.extents[found] : 1;
    // Columns that lie apart are brought together, which rows have to be worth.
    if (columns.back() != 1 && rows_ < kFewRows) return false;
    const auto place = [&](std::vector<int64_t>& values, int64_t none) {
      const int64_t value = found < values.size() ? values[found] : none;
      if (found < values.size()) values.erase(values.begin() + static_cast<std::ptrdiff_t>(found));
      values.insert(values.end() - 1, value);
    };
    for (auto& strides : space.strides) place(strides, 0);
    place(space.extents, 1);
    columnsOfJob_ = columns.back() == 1
                        ? std::max(kBlock, kResults / std::clamp<int64_t>(rows_, 1, kRows) / kBlock * kBlock)
                        : kBlock;
    return true;
  }

  void multiplyMatrices(const runtime::LaunchArguments& arguments) const {
    const int64_t columns = loops_.kept.inner();
    const int64_t columnBlocks = (columns + columnsOfJob_ - 1) / columnsOfJob_;
    const int64_t rowBlocks = (rows_ + kRows - 1) / kRows;
    const int64_t each = columnBlocks * rowBlocks;
    const int64_t matrices = loops_.kept.outer() / rows_;
    runJobs(matrices * each, outputs_ * std::max<int64_t>(reduced_, 1) * 2, [&](int64_t job) {
      const int64_t firstRow = job % each / columnBlocks * kRows;
      const int64_t column = job % columnBlocks * columnsOfJob_;
      int64_t offsets[3];
      loops_.kept.offsets(job / each * rows_ + firstRow, offsets);
      const auto at = [&](size_t k, int64_t offset) {
        return static_cast<const char*>(arguments.inputs[k - 1]) + (offsets[k] + offset) * bytes_;
      };
      const size_t a = columnsOf_ == 2 ? 1 : 2;
      const size_t b = columnsOf_;
      const size_t row = loops_.kept.extents.size() - 2;
      const int64_t bColumn = loops_.kept.strides[b].back();
      ProductTile tile;
      tile.a = at(a, 0);
      tile.aRow = loops_.kept.strides[a][row];
      tile.aStep = loops_.reduced.strides[a].back();
      tile.b = at(b, column * bColumn);
      tile.bStep = loops_.reduced.strides[b].back();
      tile.rows = static_cast<size_t>(std::min(kRows, rows_ - firstRow));
      tile.depth = static_cast<size_t>(reduced_);
      tile.count = static_cast<size_t>(std::min(columnsOfJob_, columns - column));
      tile.out = static_cast<char*>(arguments.outputs[0]) + (offsets[0] + column) * bytes_;
      tile.outRow = loops_.kept.strides[0][row];
      if (bColumn == 1) return functions_.tile(tile);
      multiplyApart(tile, bColumn);
    });
  }

  // Columns that lie `bColumn` elements apart.
  void multiplyApart(const ProductTile& whole, int64_t bColumn) const {
    int64_t sums[kRows * kBlock];
    alignas(64) char packed[kDepth * kBlock * sizeof(int64_t)];
    ProductTile tile = whole;
    tile.b = packed;
    tile.bStep = kBlock;
    tile.sums = sums;
    for (size_t first = 0; first == 0 || first < whole.depth; first += kDepth) {
      tile.depth = std::min<size_t>(kDepth, whole.depth - first);
      const auto step = static_cast<int64_t>(first);
      tile.a = static_cast<const char*>(whole.a) + step * whole.aStep * bytes_;
      tile.out = first + tile.depth == whole.depth ? whole.out : nullptr;
      const char* const from = static_cast<const char*>(whole.b) + step * whole.bStep * bytes_;
      for (int64_t k = 0; k < static_cast<int64_t>(tile.depth); ++k) {
        for (int64_t j = 0; j < static_cast<int64_t>(whole.count); ++j)
          std::memcpy(packed + (k * kBlock + j) * bytes_, from + (k * whole.bStep + j * bColumn) * bytes_,
                      static_cast<size_t>(bytes_));
      }
      functions_.tile(tile);
      tile.goesOn = true;
    }
  }

  ops::PointwiseReduce op_;
  IntegerProducts functions_;
  PointwiseReduceLoops loops_;
  int64_t bytes_ = 4, outputs_ = 0, reduced_ = 1;
  bool byColumns_ = false;  // sums side by side; else one after another
  bool isMatrix_ = false;   // multiplyMatrices()
  size_t columnsOf_ = 2;    // the operand whose columns are the result's
  int64_t rows_ = 0, columnsOfJob_ = kBlock;
};

}  // namespace

KernelRow kernelRow_integer_products() {
  return {"integer_products", 1, &loadSimple<ops::PointwiseReduce, IntegerProductsInstance>};
}

}  // namespace tenon::backends::cpu
