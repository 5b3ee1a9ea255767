// Matmul of 8-bit integers: exact sums in i32. A constant right matrix is packed when the engine is loaded, any other
// at each launch; the epilogue takes the sums from the workspace.
#include "backends/cpu/kernels/common/byte_tiles.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/matrix_pairs.h"
#include "backends/cpu/kernels/common/pointwise_runner.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"
#include "ops/op/matmul.h"
#include "ops/strides.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kBlockBytes = 24 * 1024;  // rows of one job that should stay in the first cache
constexpr int64_t kJobs = 16;               // at least, where there is work for so many

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

struct ByteMatMulKernel final : runtime::Kernel, runtime::Packer {
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
  bool isPacked = false;
  int64_t depth = 0, columns = 0;  // of the packed matrix
};

class ByteMatMulInstance final : public runtime::KernelInstance {
 public:
  explicit ByteMatMulInstance(const ByteMatMulKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    configureMatrices(shapes.inputs[0].dims, shapes.inputs[1].dims, y.dims);
    hasEpilogue_ = !kernel_.op.epilogue.empty();
    if (hasEpilogue_) {
      std::vector<runtime::TensorShape> operands{{DataType::kI32, y.dims, Layout::kLinear}};
      operands.insert(operands.end(), shapes.inputs.begin() + 2, shapes.inputs.end());
      operands_.assign(operands.size(), nullptr);
      epilogue_.configure(operands, y);
    }
    const auto matrices = std::max<int64_t>(1, static_cast<int64_t>(matrices_.size()));
    const int64_t jobs = (kJobs + matrices - 1) / matrices;  // of one matrix
    tiling_ = byteTiling({rows_, 1, byteQuads(depth_), columns_});
    const int64_t tiles = (rows_ + tiling_.rows - 1) / tiling_.rows;
    blockRows_ = tiling_.rows * std::clamp<int64_t>(kBlockBytes / (tiling_.rows * std::max<int64_t>(rowBytes_, 1)), 1,
                                                    std::max<int64_t>(tiles / jobs, 1));
    blocks_ = (rows_ + blockRows_ - 1) / blockRows_;
    const int64_t pairs = (bytePanels(columns_) + 1) / 2;
    chunks_ = std::clamp<int64_t>(jobs / std::max<int64_t>(blocks_, 1), 1, std::max<int64_t>(pairs, 1));
    chunkPanels_ = (pairs + chunks_ - 1) / chunks_ * 2;
    panelsAt_ = aligned(countA_ * rows_ * rowBytes_);
    matrixBytes_ = bytePanels(columns_) * bytePanelBytes(depth_);
    sumsAt_ = panelsAt_ + (kernel_.isPacked ? 0 : aligned(countB_ * matrixBytes_));
    const int64_t sums = hasEpilogue_ ? y.dims.count() * static_cast<int64_t>(sizeof(int32_t)) : 0;
    return static_cast<size_t>(sumsAt_ + sums);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (rows_ == 0 || columns_ == 0 || matrices_.empty()) return;
    auto* const workspace = static_cast<char*>(arguments.workspace);
    auto* const rows = reinterpret_cast<uint8_t*>(workspace);
    shiftRows(static_cast<const int8_t*>(arguments.inputs[0]), rows);
    const auto* panels = static_cast<const int8_t*>(arguments.inputs[1]);
    if (!kernel_.isPacked) {
      auto* const packed = reinterpret_cast<int8_t*>(workspace + panelsAt_);
      packMatrices(panels, packed);
      panels = packed;
    }
    void* const sums = hasEpilogue_ ? workspace + sumsAt_ : arguments.outputs[0];
    const int64_t each = blocks_ * chunks_;
    const auto matrices = static_cast<int64_t>(matrices_.size());
    runJobs(matrices * each, matrices * rows_ * bytePanels(columns_) * kBytePanel * depth_ / 4,
            [&](int64_t i) { job(i / each, i % each, rows, panels, static_cast<int32_t*>(sums)); });
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

  void shiftRows(const int8_t* a, uint8_t* to) const {
    const bool transposed = kernel_.op.transposeA;
    constexpr int64_t kTogether = 16;  // rows of a job
    const int64_t all = countA_ * rows_;
    runJobs((all + kTogether - 1) / kTogether, all * depth_ / 2, [&](int64_t job) {
      for (int64_t row = job * kTogether; row < std::min(all, (job + 1) * kTogether); ++row) {
        const int64_t matrix = row / rows_ * rows_ * depth_;
        const int64_t within = row % rows_;
        shiftBytes(a + matrix + (transposed ? within : within * depth_), depth_, transposed ? rows_ : 1,
                   to + row * rowBytes_);
      }
    });
  }

  void packMatrices(const int8_t* b, int8_t* to) const {
    const bool transposed = kernel_.op.transposeB;
    const int64_t each = (bytePanels(columns_) + kBytePanelsTogether - 1) / kBytePanelsTogether;
    const int64_t columnStep = transposed ? depth_ : 1;
    runJobs(countB_ * each, countB_ * columns_ * depth_, [&](int64_t i) {
      const int64_t panel = i % each * kBytePanelsTogether;
      const int64_t column = panel * kBytePanel;
      packBytePanels(b + i / each * depth_ * columns_ + column * columnStep, depth_,
                     std::min(kBytePanelsTogether * kBytePanel, columns_ - column), transposed ? 1 : columns_,
                     columnStep, to + i / each * matrixBytes_ + panel * bytePanelBytes(depth_));
    });
  }

  void job(int64_t matrix, int64_t index, const uint8_t* rows, const int8_t* panels, int32_t* out) const {
    const auto& pair = matrices_[static_cast<size_t>(matrix)];
    const int64_t firstRow = index / chunks_ * blockRows_;
    const int64_t lastRow = std::min(rows_, firstRow + blockRows_);
    const int64_t firstPanel = index % chunks_ * chunkPanels_;
    const int64_t lastPanel = std::min(firstPanel + chunkPanels_, bytePanels(columns_));
    const ByteTileScope scope(tiling_);
    for (int64_t p = firstPanel; p < lastPanel; p += 2) {
      ByteTile tile;
      const int64_t tap = 0;
      const uint8_t* sources[kMostByteRows];
      tile.rows = sources;
      tile.taps = &tap;
      tile.panels = panels + pair.b * matrixBytes_ + p * bytePanelBytes(depth_);
      tile.panelStep = bytePanelBytes(depth_);
      tile.quads = byteQuads(depth_);
      tile.panelCount = static_cast<int>(std::min<int64_t>(2, lastPanel - p));
      tile.width = std::min(tile.panelCount * kBytePanel, columns_ - p * kBytePanel);
      tile.outStep = columns_;
      for (int64_t row = firstRow; row < lastRow; row += tiling_.rows) {
        tile.rowCount = static_cast<int>(std::min(tiling_.rows, lastRow - row));
        for (int64_t r = 0; r < tile.rowCount; ++r) sources[r] = rows + (pair.a * rows_ + row + r) * rowBytes_;
        tile.out = out + (matrix * rows_ + row) * columns_ + p * kBytePanel;
        tiling_.multiply(tile);
      }
    }
  }

  const ByteMatMulKernel& kernel_;
  PointwiseRunner epilogue_;
  ByteTiling tiling_;
  std::vector<MatrixPairs::Pair> matrices_;
  std::vector<void*> operands_;  // of the epilogue
  bool hasEpilogue_ = false;
  int64_t rows_ = 0, columns_ = 0, depth_ = 0;
  int64_t countA_ = 0, countB_ = 0;  // matrices of the operands
  int64_t rowBytes_ = 0, matrixBytes_ = 0, panelsAt_ = 0, sumsAt_ = 0;
  int64_t blockRows_ = kByteRows, blocks_ = 0, chunkPanels_ = 2, chunks_ = 1;
};

std::unique_ptr<runtime::KernelInstance> ByteMatMulKernel::instantiate() const {
  return std::make_unique<ByteMatMulInstance>(*this);
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::MatMul>();
  if (description == nullptr) throw Unsupported("cpu.byte_matmul cannot compute {}", op.name());
  return std::make_unique<ByteMatMulKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_byte_matmul() { return {"byte_matmul", 1, &load}; }

}  // namespace tenon::backends::cpu
