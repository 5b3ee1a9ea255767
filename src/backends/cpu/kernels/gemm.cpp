// Matmul: tiles of rows times packed panels of columns. A constant matrix is packed when the engine is loaded, any
// other at each launch.
#include <utility>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/matrix_pairs.h"
#include "backends/cpu/kernels/common/tile_epilogue.h"
#include "backends/cpu/kernels/common/unpacked_products.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/shallow_simd.h"
#include "backends/cpu/kernels/simd/transpose_simd.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "ops/op/matmul.h"
#include "ops/strides.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kBlockFloats = 32 * 1024;       // rows of one job that should stay in the second cache
constexpr int64_t kManyBlockFloats = 128 * 1024;  // the same where the matrix leaves it
constexpr int64_t kTilesOfMany = 8;               // at least, that meet a panel of such a matrix
constexpr int64_t kJobs = 16;                     // at least, where there is work for so many
constexpr int64_t kFewRows = 2;                   // that are not worth packing a matrix for
constexpr int64_t kManyFloats = 128 * 1024;       // of a matrix that leaves the second cache
constexpr int64_t kManyResults = 64 * 1024;
constexpr int64_t kRowsOfOneChain = 4;  // tiles of fewer rows wait for their own sums
constexpr int64_t kEvenDepth = 96;      // up to so deep, asking for results takes longer than what it gains
constexpr int64_t kFewTiles = 8;        // of rows, which meet a panel together

int64_t depthOf(const ops::MatMul& op, const Dims& b) { return b[b.rank - (op.transposeB ? 1 : 2)]; }
int64_t columnsOf(const ops::MatMul& op, const Dims& b) { return b[b.rank - (op.transposeB ? 2 : 1)]; }

// Columns that would leave most of a panel empty: sums of products along the depth take a vector of it at a time.
constexpr int64_t kLongDepth = 64;
bool isFew(int64_t depth, int64_t columns) { return columns <= 4 && depth >= kLongDepth; }

struct GemmKernel final : runtime::Kernel, runtime::Packer {
  GemmKernel(const ops::MatMul& op, const runtime::KernelLoad& load) : op(op) {
    const auto& b = load.constants[1];
    if (b.data != nullptr && !isConstantF32(b))
      throw Unsupported("cpu.gemm: a constant matrix of {}; expected f32", name(b.dtype));
    if (b.data == nullptr || b.dims.count(0, b.dims.rank - 2) != 1) return;
    depth = depthOf(op, b.dims);
    columns = columnsOf(op, b.dims);
    isPacked = columns > 1 && (op.transposeA || !isFew(depth, columns));
    if (!isPacked) return;
    findBands(static_cast<const float*>(b.data));
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;
  // The rows of each panel that are not zeros from the ends on: matrices that resize, and banks of filters, are bands.
  void findBands(const float* b) {
    const int64_t width = tileGeometry().columns;
    for (int64_t p = 0; p < panelCount(columns); ++p) {
      const auto isZero = [&](int64_t row) {
        for (int64_t column = p * width; column < std::min(columns, (p + 1) * width); ++column) {
          if (b[row * depthStride() + column * columnStride()] != 0.f) return false;
        }
        return true;
      };
      Band band{0, depth};
      while (band.begin < band.end && isZero(band.begin)) ++band.begin;
      while (band.begin < band.end && isZero(band.end - 1)) --band.end;
      bands.push_back(band);
    }
  }
  int64_t depthStride() const { return op.transposeB ? 1 : columns; }
  int64_t columnStride() const { return op.transposeB ? depth : 1; }
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    if (!isPacked) return {};
    return {{{1},
             fmt::format("panels of {}, halves of {}, {} by {}{}", tileGeometry().columns, halfColumns(), depth,
                         columns, op.transposeB ? ", transposed" : ""),
             panelBytes(depth, columns),
             true}};
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    const int64_t width = tileGeometry().columns;
    const int64_t panels = panelCount(columns);
    const auto* const from = static_cast<const float*>(sources[0]);
    runJobs(panels, panels * depth * width, [&](int64_t p) {
      const int64_t count = std::min(width, columns - p * width);
      float* const panel = static_cast<float*>(to) + p * depth * width;
      packPanelsInto({from + p * width * columnStride(), depth, count, depthStride(), columnStride()}, panel, 0);
      if (hasHalves(count)) repeatHalf(panel, depth);
    });
  }
  void restore(const runtime::PackedForm&, size_t, const void* packed, void* to) const override {
    unpackPanels(static_cast<const float*>(packed), static_cast<float*>(to), depth, columns, depthStride(),
                 columnStride());
  }

  struct Band {
    int64_t begin, end;
  };

  ops::MatMul op;
  bool isPacked = false;
  std::vector<Band> bands;         // of the panels of the packed matrix
  int64_t depth = 0, columns = 0;  // of the packed matrix
};

class GemmInstance final : public runtime::KernelInstance {
 public:
  explicit GemmInstance(const GemmKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& y = shapes.outputs[0].dims;
    epilogue_.configure("cpu.gemm", y, shapes.inputs.subspan(2), y.rank - 1);
    configureMatrices(shapes.inputs[0].dims, shapes.inputs[1].dims, y);
    const int64_t tileRows = tileGeometry().rows;
    tiles_ = (rows_ + tileRows - 1) / tileRows;
    const int64_t panels = panelCount(columns_);
    const int64_t matrices = std::max<int64_t>(1, static_cast<int64_t>(matrices_.size()));
    const int64_t jobs = (kJobs + matrices - 1) / matrices;  // of one matrix
    panelFloats_ = depth_ * tileGeometry().columns;
    const int64_t tileFloats = tileRows * std::max<int64_t>(depth_, 1);
    // Where a matrix leaves the second cache, each block of rows brings all of it there again.
    blockTiles_ = panels * panelFloats_ > kManyFloats
                      ? std::min(tiles_, std::max(kTilesOfMany, kManyBlockFloats / tileFloats))
                      : std::min(tiles_ / jobs, kBlockFloats / tileFloats);
    blockTiles_ = std::max<int64_t>(1, blockTiles_);
    blocks_ = (tiles_ + blockTiles_ - 1) / blockTiles_;
    chunks_ = std::clamp<int64_t>(jobs / std::max<int64_t>(blocks_, 1), 1, std::max<int64_t>(panels, 1));
    chunkPanels_ = (panels + chunks_ - 1) / chunks_;
    chunks_ = std::max<int64_t>(1, (panels + chunkPanels_ - 1) / std::max<int64_t>(chunkPanels_, 1));
    isDirect_ = !kernel_.isPacked && !kernel_.op.transposeA && !kernel_.op.transposeB && rows_ <= kFewRows;
    findDots();
    isShallow_ = depth_ > 0 && depth_ <= kShallowDepth && epilogue_.isPlain();
    packsB_ = !kernel_.isPacked && !(isShallow_ && !kernel_.op.transposeB);
    if (isShallow_) {
      isDirect_ = isAlong_ = isTurned_ = false;
      packedFloats_ = packsB_ ? countB_ * panels * panelFloats_ : 0;
      return static_cast<size_t>(packedFloats_ + (kernel_.op.transposeA ? countA_ * rows_ * depth_ : 0)) *
             sizeof(float);
    }
    if (isAlong_) return turnsB_ ? static_cast<size_t>(countB_ * depth_ * columns_) * sizeof(float) : 0;
    if (isDirect_ || isTurned_) return 0;
    fetchesOut_ = rows_ * columns_ > kManyResults;
    const int64_t rest = rows_ % tileRows;
    isEven_ = rows_ >= tileRows && (rest == 0 || rest >= kRowsOfOneChain) && (depth_ <= kEvenDepth || !fetchesOut_);
    isLarge_ = kernel_.isPacked && panels * panelFloats_ > kManyFloats;
    packedFloats_ = kernel_.isPacked ? 0 : countB_ * panels * panelFloats_;
    // Few rows meet a panel as soon as it is packed, while it is in the second cache.
    packsEach_ = packsB_ && rows_ <= kFewTiles * tileRows && countB_ == matrices;
    // The team may be another one when it is executed.
    if (packsEach_) packedFloats_ = std::min<int64_t>(countB_ * panels, platform::coreCount()) * panelFloats_;
    return static_cast<size_t>(packedFloats_ + (kernel_.op.transposeA ? countA_ * rows_ * depth_ : 0)) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (rows_ == 0 || columns_ == 0) return;
    const auto* a = static_cast<const float*>(arguments.inputs[0]);
    const auto* panels = static_cast<const float*>(arguments.inputs[1]);
    auto* const workspace = static_cast<float*>(arguments.workspace);
    auto* const out = static_cast<float*>(arguments.outputs[0]);
    if (isAlong_ && turnsB_) {
      turnColumns(panels, countB_, depth_, columns_, workspace);
      panels = workspace;
    }
    const auto unpacked = [&] {
      return UnpackedProduct{epilogue_,
                             kernel_.op.epilogue.empty(),
                             matrices_,
                             rows_,
                             depth_,
                             columns_,
                             a,
                             panels,
                             out,
                             arguments.inputs + 2,
                             kernel_.isPacked || packsB_};
    };
    if (isAlong_) return multiplyAlong(unpacked());
    if (isTurned_) return multiplyTurned(unpacked());
    if (isDirect_) return multiplyRows(unpacked());
    if (packsB_ && !packsEach_) {
      packB(panels, workspace);
      panels = workspace;
    }
    if (kernel_.op.transposeA) {
      transposeA(a, workspace + packedFloats_);
      a = workspace + packedFloats_;
    }
    if (isShallow_) return multiplyShallow(unpacked());
    if (packsEach_) return packAndMultiply(a, panels, workspace, out, arguments.inputs + 2);
    const int64_t each = blocks_ * chunks_;
    const auto matrices = static_cast<int64_t>(matrices_.size());
    runJobs(matrices * each, matrices * rows_ * columns_ * depth_,
            [&](int64_t i) { job(i / each, i % each, a, panels, out, arguments.inputs + 2); });
  }

 private:
  void configureMatrices(const Dims& a, const Dims& b, const Dims& y) {
    const auto& op = kernel_.op;
    depth_ = depthOf(op, b);
    columns_ = columnsOf(op, b);
    auto matrices = matrixPairs(op, a, b, y, columns_, kernel_.isPacked);
    matrices_ = std::move(matrices.pairs);
    rows_ = matrices.rows;
    countA_ = matrices.countA;
    countB_ = matrices.countB;
  }

  // Whether sums go along the depth, where elements of rows and of columns lie behind each other or few are brought
  // there: one column, few of them, or few rows by a transposed matrix, which packing would be more work for.
  void findDots() {
    const auto& op = kernel_.op;
    const bool isAsItIs = !kernel_.isPacked && depth_ > 0;
    isTurned_ = isAsItIs && op.transposeA && columns_ == 1;
    isAlong_ =
        isAsItIs && !op.transposeA &&
        (columns_ == 1 || isFew(depth_, columns_) || (op.transposeB && rows_ <= kMaxTileRows && depth_ >= kLongDepth));
    turnsB_ = !op.transposeB && columns_ > 1;
  }

  void packB(const float* b, float* to) const {
    const int64_t panels = countB_ * panelCount(columns_);
    runJobs(panels, panels * panelFloats_, [&](int64_t i) { packPanel(b, i, to + i * panelFloats_); });
  }
  // Panel i of all matrices.
  void packPanel(const float* b, int64_t i, float* to) const {
    const int64_t width = tileGeometry().columns;
    const int64_t panels = panelCount(columns_);
    const bool transposed = kernel_.op.transposeB;
    const int64_t column = i % panels * width;
    const auto* const from = b + i / panels * depth_ * columns_ + column * (transposed ? depth_ : 1);
    const int64_t count = std::min(width, columns_ - column);
    packPanelsInto({from, depth_, count, transposed ? 1 : columns_, transposed ? depth_ : 1}, to, 0);
    if (hasHalves(count)) repeatHalf(to, depth_);
  }

  // All rows of a matrix by one panel after another, each of which is packed where the thread had the one before.
  void packAndMultiply(const float* a, const float* b, float* workspace, float* out, void* const* extras) const {
    const int64_t panels = panelCount(columns_);
    const auto matrices = static_cast<int64_t>(matrices_.size());
    runJobs(matrices * panels, matrices * rows_ * columns_ * depth_, [&](int64_t i, int place) {
      const int64_t matrix = i / panels;
      const auto& pair = matrices_[static_cast<size_t>(matrix)];
      float* const panel = workspace + place * panelFloats_;
      packPanel(b, pair.b * panels + i % panels, panel);
      multiplyPanel(matrix, a + pair.a * rows_ * depth_, {0, tiles_}, i % panels, panel, out, extras);
    });
  }

  void transposeA(const float* a, float* to) const {
    constexpr int64_t kRows = 32;  // of a job
    const int64_t pieces = (rows_ + kRows - 1) / kRows;
    const auto transpose = transposeFunctions(sizeof(float)).transpose;
    runJobs(countA_ * pieces, countA_ * rows_ * depth_, [&](int64_t i) {
      const int64_t first = i % pieces * kRows;
      const int64_t matrix = i / pieces * rows_ * depth_;
      transpose(a + matrix + first, static_cast<size_t>(rows_), to + matrix + first * depth_,
                static_cast<size_t>(depth_), static_cast<size_t>(depth_),
                static_cast<size_t>(std::min(kRows, rows_ - first)));
    });
  }

  void job(int64_t matrix, int64_t index, const float* a, const float* panels, float* out, void* const* extras) const {
    const auto& pair = matrices_[static_cast<size_t>(matrix)];
    a += pair.a * rows_ * depth_;
    panels += pair.b * panelCount(columns_) * panelFloats_;
    const int64_t block = index / chunks_;
    const Tiles tiles{tiles_ * block / blocks_, tiles_ * (block + 1) / blocks_};
    const int64_t firstPanel = index % chunks_ * chunkPanels_;
    const int64_t lastPanel = std::min(firstPanel + chunkPanels_, panelCount(columns_));
    for (int64_t p = firstPanel; p < lastPanel; ++p)
      multiplyPanel(matrix, a, tiles, p, panels + p * panelFloats_, out, extras, isLarge_ && p + 1 < lastPanel);
  }

  struct Tiles {
    int64_t begin, end;
  };
  // Tiles are of nearly as many rows each: one of one or two rows would wait for its own sums.
  int64_t firstRow(int64_t tile) const {
    return isEven_ ? std::min(rows_, tile * tileGeometry().rows) : rows_ * tile / tiles_;
  }
  // Rows of the matrix `a` by panel p.
  void multiplyPanel(int64_t matrix, const float* a, Tiles tiles, int64_t p, const float* panel, float* out,
                     void* const* extras, bool hasNext = false) const {
    const int64_t tileColumns = tileGeometry().columns;
    const auto band = kernel_.isPacked ? kernel_.bands[static_cast<size_t>(p)] : GemmKernel::Band{0, depth_};
    TileCall call;
    call.depth = band.end - band.begin;
    call.panel = panel + band.begin * tileColumns;
    call.width = std::min<int64_t>(tileColumns, columns_ - p * tileColumns);
    call.hasHalves = call.width < tileColumns && hasHalves(call.width);
    int64_t next = firstRow(tiles.begin);
    if (isEven_ && !hasNext) {
      const EvenRows rows{a + next * depth_ + band.begin, depth_, 0, firstRow(tiles.end) - next};
      return epilogue_.run(rows, call, out, extras, matrix * rows_ + next, p * tileColumns, columns_);
    }
    for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
      const int64_t row = std::exchange(next, firstRow(tile + 1));
      const int count = static_cast<int>(next - row);
      const float* sources[kMaxTileRows];
      for (int r = 0; r < count; ++r) sources[r] = a + (row + r) * depth_ + band.begin;
      call.sources = sources;
      if (hasNext) call.ahead = aheadOf(panel, panelFloats_, true, tile - tiles.begin, tiles.end - tiles.begin);
      if (fetchesOut_ && tile + 1 < tiles.end)
        fetchRows(out + (matrix * rows_ + next) * columns_ + p * tileColumns, count, columns_, call.width);
      epilogue_.run(tileFunctions()[static_cast<size_t>(count)], count, call, out, extras, matrix * rows_ + row,
                    p * tileColumns, columns_);
    }
  }

  const GemmKernel& kernel_;
  TileEpilogue epilogue_;
  std::vector<MatrixPairs::Pair> matrices_;
  int64_t rows_ = 0, tiles_ = 0, columns_ = 0, depth_ = 0;
  int64_t countA_ = 0, countB_ = 0;  // matrices of the operands
  int64_t panelFloats_ = 0, packedFloats_ = 0;
  bool isLarge_ = false;     // the packed matrix leaves the second cache between launches
  bool fetchesOut_ = false;  // results leave the second cache
  bool isEven_ = false;      // strips take all tiles of a panel
  bool isDirect_ = false;    // multiplyRows()
  bool isAlong_ = false;     // multiplyAlong()
  bool turnsB_ = false;      // turnColumns()
  bool isTurned_ = false;    // multiplyTurned()
  bool packsEach_ = false;   // packAndMultiply()
  bool isShallow_ = false;   // multiplyShallow()
  bool packsB_ = false;      // the second matrix, at each launch
  int64_t blockTiles_ = 1, blocks_ = 0, chunkPanels_ = 1, chunks_ = 1;
};

std::unique_ptr<runtime::KernelInstance> GemmKernel::instantiate() const {
  return std::make_unique<GemmInstance>(*this);
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::MatMul>();
  if (description == nullptr) throw Unsupported("cpu.gemm cannot compute {}", op.name());
  return std::make_unique<GemmKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_gemm() { return {"gemm", 1, &load}; }

}  // namespace tenon::backends::cpu
