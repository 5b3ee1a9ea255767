// Products of a matrix with constant weights: tiles of rows times packed panels of columns.
#include "backends/cpu/run/kernel_row.h"
#include "backends/cpu/run/tile_epilogue.h"
#include "backends/cpu/run/work_queue.h"
#include "core/error.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kBlockFloats = 32 * 1024;  // rows of one job that should stay in the second cache

struct GemmKernel final : runtime::Kernel {
  GemmKernel(const ops::MatMul& op, const runtime::KernelLoad& load) : op(op) {
    const auto& b = load.constants[1];
    if (b.data == nullptr || b.dims.rank != 2) throw Unsupported("cpu.gemm needs a constant matrix as its second operand");
    depth = b.dims[op.transposeB ? 1 : 0];
    columns = b.dims[op.transposeB ? 0 : 1];
    if (load.sizesOnly) return;
    panels = packPanels(static_cast<const float*>(b.data), depth, columns, op.transposeB ? 1 : columns, op.transposeB ? depth : 1);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  ops::MatMul op;
  int64_t depth = 0;
  int64_t columns = 0;
  Panels panels;
};

class GemmInstance final : public runtime::KernelInstance {
 public:
  explicit GemmInstance(const GemmKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0];
    rows_ = kernel_.columns == 0 ? 0 : y.dims.count() / kernel_.columns;
    std::vector<TileEpilogue::Operand> operands;
    for (const auto& extra : shapes.inputs.subspan(2)) {
      TileEpilogue::Operand operand{};
      if (!classifyOperand(extra.dims, y.dims, y.dims.rank - 1, operand)) {
        throw Unsupported("cpu.gemm: an operand {} of the epilogue for a result {}", extra.dims.text(), y.dims.text());
      }
      operands.push_back(operand);
    }
    if (!epilogue_.configure(std::move(operands))) throw Unsupported("cpu.gemm: the epilogue {} is too long", text(kernel_.op.epilogue));
    const int64_t tileRows = tileGeometry().rows;
    const int64_t tiles = (rows_ + tileRows - 1) / tileRows;
    constexpr int64_t kJobs = 16;
    blockTiles_ = std::max<int64_t>(1, std::min(tiles / kJobs, kBlockFloats / (tileRows * std::max<int64_t>(kernel_.depth, 1))));
    blocks_ = (tiles + blockTiles_ - 1) / blockTiles_;
    const int64_t panels = panelCount(kernel_.columns);
    chunks_ = std::clamp<int64_t>(kJobs / std::max<int64_t>(blocks_, 1), 1, std::max<int64_t>(panels, 1));
    chunkPanels_ = (panels + chunks_ - 1) / chunks_;
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (rows_ == 0) return;
    const auto* const a = static_cast<const float*>(arguments.inputs[0]);
    auto* const out = static_cast<float*>(arguments.outputs[0]);
    runJobs(blocks_ * chunks_, rows_ * kernel_.columns * kernel_.depth, [&](int64_t i) { job(i, a, out, arguments.inputs + 2); });
  }

 private:
  void job(int64_t index, const float* a, float* out, void* const* extras) const {
    const auto [tileRows, tileColumns] = tileGeometry();
    const int64_t firstRow = index / chunks_ * blockTiles_ * tileRows;
    const int64_t lastRow = std::min(rows_, firstRow + blockTiles_ * tileRows);
    const int64_t firstPanel = index % chunks_ * chunkPanels_;
    const int64_t lastPanel = std::min(firstPanel + chunkPanels_, panelCount(kernel_.columns));
    const auto& functions = tileFunctions();
    for (int64_t p = firstPanel; p < lastPanel; ++p) {
      TileCall call;
      call.depth = kernel_.depth;
      call.panel = kernel_.panels.data() + p * kernel_.depth * tileColumns;
      call.width = std::min<int64_t>(tileColumns, kernel_.columns - p * tileColumns);
      for (int64_t row = firstRow; row < lastRow; row += tileRows) {
        const int count = static_cast<int>(std::min<int64_t>(tileRows, lastRow - row));
        const float* sources[kMaxTileRows];
        for (int r = 0; r < count; ++r) sources[r] = a + (row + r) * kernel_.depth;
        call.sources = sources;
        epilogue_.run(functions[static_cast<size_t>(count)], count, call, out, extras, row, p * tileColumns, kernel_.columns);
      }
    }
  }

  const GemmKernel& kernel_;
  TileEpilogue epilogue_;
  int64_t rows_ = 0;
  int64_t blockTiles_ = 1, blocks_ = 0, chunkPanels_ = 1, chunks_ = 1;
};

std::unique_ptr<runtime::KernelInstance> GemmKernel::instantiate() const { return std::make_unique<GemmInstance>(*this); }

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::MatMul>();
  if (description == nullptr) throw Unsupported("cpu.gemm cannot compute {}", op.name());
  return std::make_unique<GemmKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_gemm() { return {"gemm", 1, &load}; }

}  // namespace tenon::backends::cpu
