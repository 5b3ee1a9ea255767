// Matmul of 8-bit integers: exact sums in i32. A constant right matrix is packed when the engine is loaded, any other
// at each launch, for few rows in parts that they meet at once; few columns are multiplied along the depth. The
// epilogue takes the sums from the workspace. Rows are made unsigned, columns signed: with zero points of these, sum (a
// - za) (b - zb) = sum ab - za sum b - zb (sum a - K za).
#include "ops/op/byte_matmul.h"
#include "backends/cpu/kernels/common/byte_few_columns.h"
#include "backends/cpu/kernels/common/byte_tiles.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/matrix_pairs.h"
#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/byte_finish_simd.h"
#include "core/error.h"
#include "ops/op/matmul.h"
#include "ops/strides.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kBlockBytes = 24 * 1024;  // rows of one job that should stay in the first cache
constexpr int64_t kJobs = 16;               // at least, where there is work for so many
constexpr int64_t kFewRows = 64;            // of each matrix
constexpr int64_t kPartDepth = 256;         // whose columns stay in the first cache
constexpr int64_t kLongRow = 2048;          // of a matrix whose rows lie in a page each: few of them at a time, ...
constexpr int64_t kLongPartDepth = 64;      // ...
constexpr int64_t kLongPart = 1024;         // ... by many columns
constexpr int64_t kPartColumns = kBytePanelsTogether * kBytePanel;

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

struct ByteMatMulKernel final : runtime::Kernel, runtime::Packer {
  explicit ByteMatMulKernel(const ops::ByteMatMul&) : hasZeros(true) {}
  ByteMatMulKernel(const ops::MatMul& op, const runtime::KernelLoad& load) : op(op) {
    const auto& b = load.constants[1];
    if (b.data != nullptr && b.dtype != DataType::kI8)
      throw Unsupported("cpu.byte_matmul: a constant matrix of {}; expected i8", name(b.dtype));
    isPacked = b.data != nullptr && b.dims.rank == 2;
    if (!isPacked) return;
    depth = b.dims[op.transposeB ? 1 : 0];
    columns = b.dims[op.transposeB ? 0 : 1];
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    if (!isPacked) return {};
    return {{{1},
             fmt::format("byte panels, {} by {}{}", depth, columns, op.transposeB ? ", transposed" : ""),
             static_cast<uint64_t>(bytePanels(columns) * bytePanelBytes(depth)),
             true}};
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    const auto* const from = static_cast<const int8_t*>(sources[0]);
    const int64_t columnStep = op.transposeB ? depth : 1;
    runJobs((bytePanels(columns) + kBytePanelsTogether - 1) / kBytePanelsTogether, columns * depth, [&](int64_t job) {
      const int64_t panel = job * kBytePanelsTogether;
      const int64_t column = panel * kBytePanel;
      packBytePanels(from + column * columnStep, depth, std::min(kBytePanelsTogether * kBytePanel, columns - column),
                     op.transposeB ? 1 : columns, columnStep, static_cast<int8_t*>(to) + panel * bytePanelBytes(depth));
    });
  }
  void restore(const runtime::PackedForm&, size_t, const void* packed, void* to) const override {
    const auto* const panels = static_cast<const int8_t*>(packed);
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t c = 0; c < columns; ++c) {
        const int8_t* const panel = panels + c / kBytePanel * bytePanelBytes(depth);
        const int64_t at = (k / kByteQuad * kBytePanel + c % kBytePanel) * kByteQuad + k % kByteQuad;
        static_cast<int8_t*>(to)[op.transposeB ? c * depth + k : k * columns + c] = panel[at];
      }
    }
  }

  ops::MatMul op;
  bool hasZeros = false;  // inputs 2 and 3, and operands of either sign
  bool isPacked = false;
  int64_t depth = 0, columns = 0;  // of the packed matrix
};

class ByteMatMulInstance final : public runtime::KernelInstance {
 public:
  explicit ByteMatMulInstance(const ByteMatMulKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    types_ = {shapes.inputs[0].dtype, shapes.inputs[1].dtype};
    configureMatrices(shapes.inputs[0].dims, shapes.inputs[1].dims, y.dims);
    const auto& op = kernel_.op;
    hasFewColumns_ = !kernel_.isPacked && !op.transposeA && columns_ >= 1 && columns_ <= ByteFewColumns::kMost;
    hasFewRows_ = !kernel_.isPacked && !hasFewColumns_ && rows_ <= kFewRows;
    isDirect_ = types_[0] == DataType::kU8 && depth_ == rowBytes_ && !op.transposeA;
    zeros_.assign(static_cast<size_t>(bytePanels(columns_) * kBytePanel), 0);
    zeroCount_ = kernel_.hasZeros ? shapes.inputs[3].dims.count() : 0;
    hasEpilogue_ = !op.epilogue.empty();
    if (hasEpilogue_) {
      std::vector<runtime::TensorShape> operands{{DataType::kI32, y.dims, Layout::kLinear}};
      operands.insert(operands.end(), shapes.inputs.begin() + 2, shapes.inputs.end());
      operands_.assign(operands.size(), nullptr);
      epilogue_.configure(operands, y);
    }
    const auto matrices = std::max<int64_t>(1, static_cast<int64_t>(matrices_.size()));
    const int64_t jobs = (kJobs + matrices - 1) / matrices;  // of one matrix
    partDepth_ = columns_ >= kLongRow ? kLongPartDepth : kPartDepth;
    tiling_ = byteTiling({rows_, 1, byteQuads(hasFewRows_ ? std::min(depth_, partDepth_) : depth_), columns_});
    const int64_t tiles = (rows_ + tiling_.rows - 1) / tiling_.rows;
    blockRows_ = tiling_.rows * std::clamp<int64_t>(kBlockBytes / (tiling_.rows * std::max<int64_t>(rowBytes_, 1)), 1,
                                                    std::max<int64_t>(tiles / jobs, 1));
    blocks_ = (rows_ + blockRows_ - 1) / blockRows_;
    const int64_t pairs = (bytePanels(columns_) + 1) / 2;
    chunks_ = std::clamp<int64_t>(jobs / std::max<int64_t>(blocks_, 1), 1, std::max<int64_t>(pairs, 1));
    chunkPanels_ = (pairs + chunks_ - 1) / chunks_ * 2;
    fewColumns_ = ByteFewColumns(depth_, columns_, countB_, types_[0] == DataType::kI8, types_[1] == DataType::kI8,
                                 op.transposeB);
    rowSumsAt_ = isDirect_ || hasFewColumns_ ? 0 : aligned(countA_ * rows_ * rowBytes_);
    panelsAt_ = rowSumsAt_ + aligned(kernel_.hasZeros ? countA_ * rows_ * static_cast<int64_t>(sizeof(int32_t)) : 0);
    matrixBytes_ = bytePanels(columns_) * bytePanelBytes(depth_);
    const int64_t prepared = hasFewColumns_                    ? fewColumns_.bytes()
                             : kernel_.isPacked || hasFewRows_ ? 0
                                                               : countB_ * matrixBytes_;
    sumsAt_ = panelsAt_ + aligned(prepared);
    const int64_t sums = hasEpilogue_ ? y.dims.count() * static_cast<int64_t>(sizeof(int32_t)) : 0;
    return static_cast<size_t>(sumsAt_ + sums);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (rows_ == 0 || columns_ == 0 || matrices_.empty()) return;
    auto* const workspace = static_cast<char*>(arguments.workspace);
    readZeros(arguments);
    rowSums_ = reinterpret_cast<int32_t*>(workspace + rowSumsAt_);
    auto* const sums =
        static_cast<int32_t*>(hasEpilogue_ ? static_cast<void*>(workspace + sumsAt_) : arguments.outputs[0]);
    const auto* const b = static_cast<const int8_t*>(arguments.inputs[1]);
    if (hasFewColumns_) {
      multiplyFewColumns(static_cast<const uint8_t*>(arguments.inputs[0]), b, workspace + panelsAt_, sums);
    } else {
      multiply(arguments.inputs[0], b, workspace, sums);
    }
    if (!hasEpilogue_) return;
    operands_[0] = sums;
    std::copy_n(arguments.inputs + 2, operands_.size() - 1, operands_.begin() + 1);
    epilogue_.run(operands_.data(), arguments.outputs[0]);
  }

 private:
  void configureMatrices(const Dims& a, const Dims& b, const Dims& y) {
    const auto& op = kernel_.op;
    depth_ = b[b.rank - (op.transposeB ? 1 : 2)];
    columns_ = b[b.rank - (op.transposeB ? 2 : 1)];
    rowBytes_ = byteQuads(depth_) * kByteQuad;
    auto matrices = matrixPairs(op, a, b, y, columns_);
    matrices_ = std::move(matrices.pairs);
    rows_ = matrices.rows;
    countA_ = matrices.countA;
    countB_ = matrices.countB;
  }

  void multiply(const void* a, const int8_t* b, char* workspace, int32_t* sums) const {
    if (!isDirect_ || centersRows_) prepareRows(a, reinterpret_cast<uint8_t*>(workspace));
    const auto* const rows = static_cast<const uint8_t*>(isDirect_ ? a : workspace);
    const auto matrices = static_cast<int64_t>(matrices_.size());
    const int64_t work = matrices * rows_ * bytePanels(columns_) * kBytePanel * depth_ / 4;
    if (hasFewRows_) {
      const int64_t width = columns_ >= kLongRow ? kLongPart : kPartColumns;
      const int64_t parts = (columns_ + width - 1) / width;
      return runJobs(matrices * parts, work + matrices * depth_ * columns_, [&](int64_t i) {
        const int64_t first = i % parts * width;
        packAndMultiply(i / parts, first, std::min(columns_, first + width), rows, b, sums);
      });
    }
    if (!kernel_.isPacked) {
      auto* const packed = reinterpret_cast<int8_t*>(workspace + panelsAt_);
      packMatrices(b, packed);
      b = packed;
    }
    const int64_t each = blocks_ * chunks_;
    runJobs(matrices * each, work, [&](int64_t i) { job(i / each, i % each, rows, b, sums); });
  }

  void multiplyFewColumns(const uint8_t* a, const int8_t* b, char* prepared, int32_t* sums) const {
    fewColumns_.prepare(b, aZero_, prepared);
    const int64_t together = std::max<int64_t>(1, kBlockBytes / std::max<int64_t>(depth_, 1));
    const int64_t blocks = (rows_ + together - 1) / together;
    const auto matrices = static_cast<int64_t>(matrices_.size());
    runJobs(matrices * blocks, matrices * rows_ * (columns_ + 1) * (depth_ + kDotBytes) / 4, [&](int64_t i) {
      const auto& pair = matrices_[static_cast<size_t>(i / blocks)];
      const int64_t first = i % blocks * together;
      fewColumns_.multiply(a + (pair.a * rows_ + first) * depth_, std::min(together, rows_ - first), prepared, pair.b,
                           zeros_.data(), centersRows_, aZero_, sums + (i / blocks * rows_ + first) * columns_);
    });
  }

  // Of unsigned rows and signed columns.
  void readZeros(const runtime::LaunchArguments& arguments) {
    aZero_ = types_[0] == DataType::kI8 ? 128 : 0;
    centersRows_ = false;
    if (!kernel_.hasZeros) return;
    aZero_ += static_cast<int32_t>(loadInt(types_[0], arguments.inputs[2], 0));
    const int32_t shift = types_[1] == DataType::kU8 ? -128 : 0;
    for (int64_t c = 0; c < zeroCount_; ++c) {
      zeros_[static_cast<size_t>(c)] = static_cast<int32_t>(loadInt(types_[1], arguments.inputs[3], c)) + shift;
      centersRows_ = centersRows_ || zeros_[static_cast<size_t>(c)] != 0;
    }
    if (zeroCount_ == 1) std::fill_n(zeros_.begin(), columns_, zeros_[0]);
  }

  // Copies rows to whole quads of unsigned bytes, and adds them up, as far as either is wanted.
  void prepareRows(const void* from, uint8_t* to) const {
    const bool transposed = kernel_.op.transposeA;
    constexpr int64_t kTogether = 16;  // rows of a job
    const int64_t all = countA_ * rows_;
    const auto* const a = static_cast<const int8_t*>(from);
    const bool isUnsigned = types_[0] == DataType::kU8;
    runJobs((all + kTogether - 1) / kTogether, all * depth_ / 2, [&](int64_t job) {
      for (int64_t row = job * kTogether; row < std::min(all, (job + 1) * kTogether); ++row) {
        const int64_t matrix = row / rows_ * rows_ * depth_;
        const int64_t within = row % rows_;
        const int8_t* const source = a + matrix + (transposed ? within : within * depth_);
        const auto* bytes = reinterpret_cast<const uint8_t*>(source);
        if (!isDirect_) {
          isUnsigned ? copyRow(source, to + row * rowBytes_)
                     : shiftBytes(source, depth_, transposed ? rows_ : 1, to + row * rowBytes_);
          bytes = to + row * rowBytes_;
        }
        if (centersRows_)
          rowSums_[row] = byteFinish().sum(bytes, depth_) -
                          static_cast<int32_t>(static_cast<uint32_t>(depth_) * static_cast<uint32_t>(aZero_));
      }
    });
  }

  void copyRow(const int8_t* from, uint8_t* to) const {
    std::memcpy(to, from, static_cast<size_t>(depth_));
    std::memset(to + depth_, 0, static_cast<size_t>(rowBytes_ - depth_));
  }

  void packMatrices(const int8_t* b, int8_t* to) const {
    const bool transposed = kernel_.op.transposeB;
    const int64_t each = (bytePanels(columns_) + kBytePanelsTogether - 1) / kBytePanelsTogether;
    const int64_t columnStep = transposed ? depth_ : 1;
    const BytePanelForm form{types_[1] == DataType::kI8, aZero_};
    runJobs(countB_ * each, countB_ * columns_ * depth_, [&](int64_t i) {
      const int64_t panel = i % each * kBytePanelsTogether;
      const int64_t column = panel * kBytePanel;
      packBytePanels(b + i / each * depth_ * columns_ + column * columnStep, depth_,
                     std::min(kBytePanelsTogether * kBytePanel, columns_ - column), transposed ? 1 : columns_,
                     columnStep, to + i / each * matrixBytes_ + panel * bytePanelBytes(depth_), form);
    });
  }

  // Rows [first, last) of a matrix of `rows` by panels of `quads` quads.
  struct Part {
    const uint8_t* rows;
    int64_t first, last;
    const int8_t* panels;
    int64_t panelCount, quads;
    int64_t width;  // columns
  };

  // Sums go to out[r * outStep + c]; done(tile, its first row, its first column) is called behind each tile.
  template <typename Done>
  void tiles(const Part& part, int32_t* out, int64_t outStep, Done done) const {
    for (int64_t p = 0; p < part.panelCount; p += 2) {
      ByteTile tile;
      const int64_t tap = 0;
      const uint8_t* sources[kMostByteRows];
      tile.rows = sources;
      tile.taps = &tap;
      tile.panelStep = part.quads * kByteQuad * kBytePanel + kBytePanel * static_cast<int64_t>(sizeof(int32_t));
      tile.panels = part.panels + p * tile.panelStep;
      tile.quads = part.quads;
      tile.panelCount = static_cast<int>(std::min<int64_t>(2, part.panelCount - p));
      tile.width = std::min(tile.panelCount * kBytePanel, part.width - p * kBytePanel);
      tile.outStep = outStep;
      for (int64_t row = part.first; row < part.last; row += tiling_.rows) {
        tile.rowCount = static_cast<int>(std::min(tiling_.rows, part.last - row));
        for (int64_t r = 0; r < tile.rowCount; ++r) sources[r] = part.rows + (row + r) * rowBytes_;
        tile.out = out + row * outStep + p * kBytePanel;
        tiling_.multiply(tile);
        done(tile, row, p * kBytePanel);
      }
    }
  }

  // Takes away what the zero points of columns make of the sums of rows; `column`: of the matrix.
  void center(const ByteTile& tile, int64_t row, int64_t column) const {
    if (centersRows_)
      byteFinish().takeAwayRows(tile.out, tile.outStep, tile.rowCount, zeros_.data() + column, rowSums_ + row,
                                tile.width);
  }

  void job(int64_t matrix, int64_t index, const uint8_t* rows, const int8_t* panels, int32_t* out) const {
    const auto& pair = matrices_[static_cast<size_t>(matrix)];
    const int64_t firstPanel = index % chunks_ * chunkPanels_;
    const int64_t column = firstPanel * kBytePanel;
    Part part;
    part.rows = rows + pair.a * rows_ * rowBytes_;
    part.first = index / chunks_ * blockRows_;
    part.last = std::min(rows_, part.first + blockRows_);
    part.panels = panels + pair.b * matrixBytes_ + firstPanel * bytePanelBytes(depth_);
    part.panelCount = std::min(chunkPanels_, bytePanels(columns_) - firstPanel);
    part.quads = byteQuads(depth_);
    part.width = columns_ - column;
    const ByteTileScope scope(tiling_);
    tiles(part, out + matrix * rows_ * columns_ + column, columns_,
          [&](const ByteTile& tile, int64_t row, int64_t at) { center(tile, pair.a * rows_ + row, column + at); });
  }

  // All rows by columns [first, last), which are packed in parts of the depth.
  void packAndMultiply(int64_t matrix, int64_t first, int64_t last, const uint8_t* rows, const int8_t* b,
                       int32_t* out) const {
    const ByteTileScope scope(tiling_);
    for (int64_t k = 0; k == 0 || k < depth_; k += partDepth_) {
      for (int64_t column = first; column < last; column += kPartColumns)
        multiplyPart(matrix, k, std::min(partDepth_, depth_ - k), column, std::min(kPartColumns, last - column), rows,
                     b, out);
    }
  }

  // Sums of a part of the depth are added to those of the parts in front of it.
  void multiplyPart(int64_t matrix, int64_t k, int64_t depth, int64_t column, int64_t width, const uint8_t* rows,
                    const int8_t* b, int32_t* out) const {
    const auto& pair = matrices_[static_cast<size_t>(matrix)];
    const bool transposed = kernel_.op.transposeB;
    alignas(64) int8_t panels[kBytePanelsTogether * (kPartDepth * kBytePanel + kBytePanel * 4)];
    const int64_t at = transposed ? column * depth_ + k : k * columns_ + column;
    packBytePanels(b + pair.b * depth_ * columns_ + at, depth, width, transposed ? 1 : columns_,
                   transposed ? depth_ : 1, panels, {types_[1] == DataType::kI8, aZero_});
    Part part;
    part.rows = rows + pair.a * rows_ * rowBytes_ + k;
    part.first = 0;
    part.last = rows_;
    part.panels = panels;
    part.panelCount = bytePanels(width);
    part.quads = byteQuads(depth);
    part.width = width;
    const auto centerLast = [&](const ByteTile& tile, int64_t row, int64_t place) {
      if (k + depth >= depth_) center(tile, pair.a * rows_ + row, column + place);
    };
    int32_t* const result = out + matrix * rows_ * columns_ + column;
    if (k == 0) return tiles(part, result, columns_, centerLast);
    alignas(64) int32_t sums[kFewRows * kPartColumns];
    tiles(part, sums, kPartColumns, [&](const ByteTile& tile, int64_t row, int64_t place) {
      centerLast(tile, row, place);
      for (int64_t r = 0; r < tile.rowCount; ++r) {
        int32_t* const to = result + (row + r) * columns_ + place;
        const int32_t* const more = tile.out + r * kPartColumns;
        for (int64_t c = 0; c < tile.width; ++c)
          to[c] = static_cast<int32_t>(static_cast<uint32_t>(to[c]) + static_cast<uint32_t>(more[c]));
      }
    });
  }

  const ByteMatMulKernel& kernel_;
  PointwiseRunner epilogue_;
  ByteTiling tiling_;
  ByteFewColumns fewColumns_;
  std::vector<MatrixPairs::Pair> matrices_;
  std::vector<void*> operands_;                                  // of the epilogue
  std::array<DataType, 2> types_{DataType::kI8, DataType::kI8};  // of the operands
  std::vector<int32_t> zeros_;                                   // by column
  int32_t aZero_ = 128;
  int32_t* rowSums_ = nullptr;  // less the depth times aZero_; in the workspace
  bool hasEpilogue_ = false, hasFewColumns_ = false, hasFewRows_ = false, isDirect_ = false, centersRows_ = false;
  int64_t zeroCount_ = 0, partDepth_ = kPartDepth;
  int64_t rows_ = 0, columns_ = 0, depth_ = 0;
  int64_t countA_ = 0, countB_ = 0;  // matrices of the operands
  int64_t rowBytes_ = 0, matrixBytes_ = 0, rowSumsAt_ = 0, panelsAt_ = 0, sumsAt_ = 0;
  int64_t blockRows_ = kByteRows, blocks_ = 0, chunkPanels_ = 2, chunks_ = 1;
};

std::unique_ptr<runtime::KernelInstance> ByteMatMulKernel::instantiate() const {
  return std::make_unique<ByteMatMulInstance>(*this);
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  if (const auto* zeros = op.as<ops::ByteMatMul>()) return std::make_unique<ByteMatMulKernel>(*zeros);
  const auto* description = op.as<ops::MatMul>();
  if (description == nullptr) throw Unsupported("cpu.byte_matmul cannot compute {}", op.name());
  return std::make_unique<ByteMatMulKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_byte_matmul() { return {"byte_matmul", 1, &load}; }

}  // namespace tenon::backends::cpu
