// Convolution of 8-bit integers: exact sums in i32 of windows over a channels-last image, requantized block by block.
// Constant weights are packed when the engine is loaded, others at each launch.
#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/common/byte_parameters.h"
#include "backends/cpu/kernels/common/byte_tiles.h"
#include "backends/cpu/kernels/common/byte_window.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/byte_finish_simd.h"
#include "backends/cpu/kernels/simd/transpose_simd.h"
#include "core/error.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kBlockPixels = 64;
constexpr int64_t kColumns = 2 * kBytePanel;  // of a tile
constexpr int64_t kMostChannels = 64;         // single ones of a vector
constexpr int64_t kJobs = 16;                 // at least, where there is work for so many

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

struct ByteConvolutionKernel final : runtime::Kernel, runtime::Packer {
  ByteConvolutionKernel(const ops::ByteConvolution& op, const runtime::KernelLoad& load) : op(op) {
    const auto& w = load.constants[1];
    isPacked = w.data != nullptr;
    if (!isPacked) return;
    if (w.dtype != DataType::kI8 && w.dtype != DataType::kU8)
      throw Unsupported("cpu.byte_convolution: constant weights of {}; expected i8 or u8", name(w.dtype));
    weights = ByteWeights(op, w.dims, w.dtype == DataType::kI8);
    hasConstantParameters = true;
    for (size_t i = 2; i < load.constants.size(); ++i)
      hasConstantParameters = hasConstantParameters && load.constants[i].data != nullptr;
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    if (!isPacked) return {};
    return {{{1}, weights.recipe(), static_cast<uint64_t>(weights.bytes()), false}};
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    weights.pack(sources[0], to);
  }

  ops::ByteConvolution op;
  bool isPacked = false, hasConstantParameters = false;
  ByteWeights weights;  // of constants
};

class ByteConvolutionInstance final : public runtime::KernelInstance {
 public:
  explicit ByteConvolutionInstance(const ByteConvolutionKernel& kernel) : kernel_(kernel) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& op = kernel_.op;
    const auto& y = shapes.outputs[0];
    const auto& w = shapes.inputs[1];
    weights_ = kernel_.isPacked ? kernel_.weights : ByteWeights(op, w.dims, w.dtype == DataType::kI8);
    count_ = y.dims.count();
    if (count_ == 0) return 0;
    image_ = ByteImage(op, weights_, shapes);
    elementBytes_ = bits(op.type) / 8;
    turn_ = transposeFunctions(static_cast<size_t>(elementBytes_)).transpose;
    const auto& finish = byteFinish();
    finish_ = op.type == DataType::kI32   ? finish.i32
              : op.type == DataType::kF32 ? finish.f32
              : op.type == DataType::kI8  ? finish.i8
                                          : finish.u8;
    parameters_.configure(op, weights_, shapes, kColumns);  // to whole vectors
    if (weights_.isDepthwise) prepareOnes();
    isPrepared_ = false;
    isLast_ = y.layout == Layout::kChannelsLast || image_.outPlane() == 1;
    divide();
    weightsAt_ = aligned(image_.copyBytes());
    return static_cast<size_t>(weightsAt_ + (kernel_.isPacked ? 0 : weights_.bytes()));
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (count_ == 0) return;
    auto* const workspace = static_cast<char*>(arguments.workspace);
    packed_ = static_cast<const int8_t*>(arguments.inputs[1]);
    if (!kernel_.isPacked) {
      weights_.pack(arguments.inputs[1], workspace + weightsAt_);
      packed_ = reinterpret_cast<const int8_t*>(workspace + weightsAt_);
    }
    if (!isPrepared_) parameters_.read(kernel_.op, weights_, packed_, arguments);
    isPrepared_ = kernel_.hasConstantParameters;
    const auto* x = static_cast<const uint8_t*>(arguments.inputs[0]);
    if (!image_.isDirect) {
      image_.copy(x, parameters_.xZero(), reinterpret_cast<uint8_t*>(workspace));
      x = reinterpret_cast<const uint8_t*>(workspace);
    }
    auto* const y = static_cast<char*>(arguments.outputs[0]);
    // Few columns take as long as a panel of them.
    const int64_t columns =
        weights_.isDepthwise ? weights_.outputs : weights_.groups * weights_.groupPanels() * kBytePanel;
    runJobs(units_ * blocks_ * chunks_, count_ / weights_.outputs * columns * weights_.tapCount * weights_.depth / 4,
            [&](int64_t job) { compute(job / chunks_, job % chunks_, x, y); });
  }

 private:
  // Results are divided into blocks of pixels, of one image where a channel lies apart, and chunks of columns.
  void divide() {
    const int64_t plane = image_.outPlane();
    units_ = isLast_ ? 1 : image_.batch;
    unitPixels_ = isLast_ ? plane * image_.batch : plane;
    tiling_ = byteTiling(
        {weights_.isDepthwise ? 0 : unitPixels_, weights_.tapCount, byteQuads(weights_.depth), weights_.columns()});
    multiplyAndFinish_ = tiling_.byRegisters ? nullptr : byteTileFinish();
    const int64_t least = (unitPixels_ + kBlockPixels - 1) / kBlockPixels;
    blockPixels_ = ((unitPixels_ + least - 1) / least + tiling_.rows - 1) / tiling_.rows * tiling_.rows;
    blocks_ = (unitPixels_ + blockPixels_ - 1) / blockPixels_;
    const int64_t width = byteChannels().channels;
    pieces_ = weights_.isDepthwise ? (weights_.outputs + width - 1) / width
                                   : weights_.groups * ((weights_.groupPanels() + 1) / 2);
    chunks_ = std::clamp<int64_t>((kJobs + units_ * blocks_ - 1) / (units_ * blocks_), 1, pieces_);
    chunkPieces_ = (pieces_ + chunks_ - 1) / chunks_;
    chunks_ = (pieces_ + chunkPieces_ - 1) / chunkPieces_;
    constexpr int64_t kFewWeights = 16 << 10;  // bytes, which stay in the first cache
    const int64_t panels = std::min(2 * chunkPieces_, weights_.groupPanels());
    isByRows_ = isLast_ && !weights_.isDepthwise && weights_.groups == 1 && multiplyAndFinish_ != nullptr &&
                (!kernel_.op.isQuantized() || weights_.outputs % kColumns == 0) &&
                panels * weights_.panelBytes() <= kFewWeights;
  }

  // Weights of 1 of single channels.
  void prepareOnes() {
    const int64_t width = byteChannels().channels;
    ones_.assign(static_cast<size_t>(weights_.chunkBytes()), 0);
    for (int64_t i = 0; i < weights_.chunkBytes(); ++i)
      ones_[static_cast<size_t>(i)] = i / (width * kByteQuad) * kByteQuad + i % kByteQuad < weights_.tapCount ? 1 : 0;
  }

  struct Block {
    const uint8_t* windows[kBlockPixels + kByteRows];
    int64_t first, pixels;  // of the unit
    int64_t unit;
  };

  struct Piece {
    int64_t column, width;  // of the result
  };

  void compute(int64_t place, int64_t chunk, const uint8_t* x, char* y) const {
    Block block;
    block.unit = place / blocks_;
    block.first = place % blocks_ * blockPixels_;
    block.pixels = std::min(blockPixels_, unitPixels_ - block.first);
    image_.windows(x, block.unit * unitPixels_ + block.first, block.pixels, block.windows);
    const int64_t first = chunk * chunkPieces_;
    const int64_t last = std::min(pieces_, first + chunkPieces_);
    if (isByRows_ && !parameters_.centersRows()) return byRows(block, first, last, y);
    const ByteTileScope scope(tiling_);
    for (int64_t piece = first; piece < last; ++piece)
      weights_.isDepthwise ? channels(block, piece, y) : panels(block, piece, y);
  }

  // Few weights meet one tile of rows after another, so that results are written as they lie.
  void byRows(const Block& block, int64_t first, int64_t last, char* y) const {
    ByteTile tile;
    tile.taps = image_.taps.data();
    tile.tapCount = weights_.tapCount;
    tile.quads = byteQuads(weights_.depth);
    tile.panelStep = weights_.panelBytes();
    for (int64_t row = 0; row < block.pixels; row += kByteRows) {
      tile.rows = block.windows + row;
      tile.rowCount = static_cast<int>(std::min(kByteRows, block.pixels - row));
      for (int64_t piece = first; piece < last; ++piece) {
        const Piece part{piece * kColumns, std::min(kColumns, weights_.outputs - piece * kColumns)};
        tile.panels = packed_ + 2 * piece * tile.panelStep;
        tile.panelCount = part.width > kBytePanel ? 2 : 1;
        tile.width = part.width;
        char* const to = y + ((block.first + row) * weights_.outputs + part.column) * elementBytes_;
        multiplyAndFinish_(tile, parameters_.columnsAt(part.column), kernel_.op.type, to, weights_.outputs);
      }
    }
  }

  void panels(const Block& block, int64_t piece, char* y) const {
    const int64_t perGroup = (weights_.groupPanels() + 1) / 2;
    const int64_t group = piece / perGroup;
    const int64_t panel = piece % perGroup * 2;
    const int64_t column = group * weights_.columns() + panel * kBytePanel;
    ByteTile tile;
    tile.taps = image_.taps.data() + group * weights_.tapCount;
    tile.tapCount = weights_.tapCount;
    tile.quads = byteQuads(weights_.depth);
    tile.panelStep = weights_.panelBytes();
    tile.panels = packed_ + (group * weights_.groupPanels() + panel) * tile.panelStep;
    tile.panelCount = static_cast<int>(std::min<int64_t>(2, weights_.groupPanels() - panel));
    tile.width = tile.panelCount * kBytePanel;
    tile.outStep = kColumns;
    alignas(64) int32_t sums[kMostByteRows * kColumns];
    alignas(64) char scratch[kBlockPixels * kColumns * 4];
    tile.out = sums;
    const Piece part{column, std::min(tile.width, weights_.columns() - panel * kBytePanel)};
    const int64_t tiles = (block.pixels + tiling_.rows - 1) / tiling_.rows;
    // Alike, as few rows cost as much as many; registers are filled.
    const int64_t rows = tiling_.byRegisters ? tiling_.rows : (block.pixels + tiles - 1) / tiles;
    for (int64_t row = 0; row < block.pixels; row += rows) {
      tile.rows = block.windows + row;
      tile.rowCount = static_cast<int>(std::min(rows, block.pixels - row));
      if (isAtOnce(tile)) {
        const auto to = rowsAt(block, row, tile.rowCount, part, scratch, y);
        tile.width = to.width;
        multiplyAndFinish_(tile, parameters_.columnsAt(part.column), kernel_.op.type, to.out, to.outStep);
        continue;
      }
      tiling_.multiply(tile);
      for (int64_t r = 0; parameters_.centersRows() && r < tile.rowCount; ++r)
        center(sums + r * kColumns, tile.rows[r], tile, part);
      finish(sums, kColumns, block, row, tile.rowCount, part, scratch, y);
    }
    store(scratch, block, part, y);
  }

  void channels(const Block& block, int64_t piece, char* y) const {
    const auto& functions = byteChannels();
    const int64_t first = piece * functions.channels;
    ByteChannels c;
    c.taps = image_.taps.data();
    c.tapCount = weights_.tapCount;
    c.weights = packed_ + piece * weights_.chunkBytes();
    c.width = std::min(functions.channels, weights_.outputs - first);
    c.offset = first;
    c.rows = block.windows;
    c.count = block.pixels;
    if (kernel_.op.isQuantized() && !parameters_.centersRows()) return channelBytes(c, block, y);
    alignas(64) int32_t sums[kByteRows * kMostChannels];
    alignas(64) int32_t all[kByteRows * kMostChannels];
    alignas(64) char scratch[kBlockPixels * kColumns * 4];
    for (int64_t column = 0; column < c.width; column += kColumns) {
      const Piece part{first + column, std::min(kColumns, c.width - column)};
      for (int64_t row = 0; row < block.pixels; row += kByteRows) {
        c.rows = block.windows + row;
        c.count = std::min(kByteRows, block.pixels - row);
        c.weights = packed_ + piece * weights_.chunkBytes();
        functions.sums(c, sums, kMostChannels);
        if (parameters_.centersRows()) {
          c.weights = ones_.data();
          functions.sums(c, all, kMostChannels);
          for (int64_t i = 0; i < c.count * kMostChannels; ++i) {
            if (i % kMostChannels < c.width)
              sums[i] -= parameters_.zerosOfWeights()[first + i % kMostChannels] * all[i];
          }
        }
        finish(sums + column, kMostChannels, block, row, c.count, part, scratch, y);
      }
      store(scratch, block, part, y);
    }
  }

  void channelBytes(const ByteChannels& c, const Block& block, char* y) const {
    alignas(64) uint8_t scratch[kBlockPixels * kMostChannels];
    ByteChannelResults results;
    const ByteColumns lanes = parameters_.lanesAt(c.offset);
    results.added = lanes.added;
    results.scales = lanes.scales;
    results.biases = lanes.biases;
    results.zero = lanes.zero;
    results.low = lanes.low;
    results.isSigned = kernel_.op.type == DataType::kI8;
    const int64_t step = isLast_ ? weights_.outputs : std::min(weights_.outputs, kMostChannels);
    results.to = isLast_ ? reinterpret_cast<uint8_t*>(y) + block.first * step + c.offset : scratch;
    results.step = step;
    sideBySide() ? joinedBytes(c, results, block) : byteChannels().bytes(c, results);
    if (isLast_) return;
    const int64_t at = (block.unit * weights_.outputs + c.offset) * unitPixels_ + block.first;
    turnBytes(scratch, step, y + at, unitPixels_, block.pixels, c.width);
  }

  // Whether windows of neighbours in a row are neighbours, and vectors hold the channels of several.
  bool sideBySide() const { return weights_.repeats > 1 && image_.stride[2] == 1 && image_.out[2] >= weights_.repeats; }

  void joinedBytes(const ByteChannels& c, const ByteChannelResults& results, const Block& block) const {
    const int64_t together = weights_.repeats;
    const auto pixels = [&](int64_t first, int64_t count, int64_t each) {
      const uint8_t* windows[kBlockPixels + kByteRows];
      for (int64_t i = 0; i < count; ++i) windows[i] = block.windows[first + i * each];
      ByteChannels own = c;
      own.rows = windows;
      own.count = count;
      own.width = c.width * each;
      ByteChannelResults to = results;
      to.to += first * results.step;
      to.step *= each;
      byteChannels().bytes(own, to);
    };
    for (int64_t first = 0; first < block.pixels;) {
      const int64_t x = (block.first + first) % image_.out[2];
      const int64_t run = std::min(block.pixels - first, image_.out[2] - x);
      const int64_t whole = run / together;
      if (whole > 0) pixels(first, whole, together);
      const int64_t rest = run - whole * together;
      // The last ones again with others of the row, or one by one.
      if (rest > 0) whole > 0 ? pixels(first + run - together, 1, together) : pixels(first, rest, 1);
      first += run;
    }
  }

  // Takes away what the zero points of weights make of the sum of a window.
  void center(int32_t* sums, const uint8_t* window, const ByteTile& tile, const Piece& part) const {
    const auto& functions = byteFinish();
    int32_t all = 0;
    for (int64_t tap = 0; tap < tile.tapCount; ++tap) all += functions.sum(window + tile.taps[tap], weights_.depth);
    functions.takeAway(sums, parameters_.zerosOfWeights() + part.column, all, part.width);
  }

  // Results go where they belong if they fill vectors there or parts of vectors are stored, else to rows of kColumns.
  bool isInPlace(const Piece& part) const { return isLast_ && (storesParts() || part.width % kBytePanel == 0); }

  bool storesParts() const {
    return multiplyAndFinish_ != nullptr && !kernel_.op.isQuantized() && !parameters_.centersRows() &&
           !weights_.isDepthwise;
  }

  void finish(const int32_t* sums, int64_t step, const Block& block, int64_t row, int64_t count, const Piece& part,
              char* scratch, char* y) const {
    auto rows = rowsAt(block, row, count, part, scratch, y);
    rows.sums = sums;
    rows.sumStep = step;
    finish_(rows, parameters_.columnsAt(part.column));
  }

  // Sums that nothing but the finish reads.
  bool isAtOnce(const ByteTile& tile) const {
    return storesParts() || (multiplyAndFinish_ != nullptr && !parameters_.centersRows() && tile.panelCount == 2);
  }

  // Where results go.
  ByteRows rowsAt(const Block& block, int64_t row, int64_t count, const Piece& part, char* scratch, char* y) const {
    const int64_t width = storesParts() ? part.width : bytePanels(part.width) * kBytePanel;
    ByteRows rows{nullptr, 0, scratch + row * kColumns * elementBytes_, kColumns, count, width};
    if (isInPlace(part)) {
      rows.out = y + ((block.first + row) * weights_.outputs + part.column) * elementBytes_;
      rows.outStep = weights_.outputs;
    }
    return rows;
  }

  void store(const char* scratch, const Block& block, const Piece& part, char* y) const {
    if (!isLast_) return turn(scratch, block, part.column, part.width, y);
    if (isInPlace(part)) return;
    for (int64_t row = 0; row < block.pixels; ++row)
      std::memcpy(y + ((block.first + row) * weights_.outputs + part.column) * elementBytes_,
                  scratch + row * kColumns * elementBytes_, static_cast<size_t>(part.width * elementBytes_));
  }

  void turn(const char* scratch, const Block& block, int64_t column, int64_t width, char* y) const {
    const int64_t at = (block.unit * weights_.outputs + column) * unitPixels_ + block.first;
    if (elementBytes_ == 1) return turnBytes(scratch, kColumns, y + at, unitPixels_, block.pixels, width);
    turn_(scratch, kColumns, y + at * elementBytes_, static_cast<size_t>(unitPixels_),
          static_cast<size_t>(block.pixels), static_cast<size_t>(width));
  }

  const ByteConvolutionKernel& kernel_;
  ByteTiling tiling_;
  ByteTileFinish multiplyAndFinish_ = nullptr;
  ByteFinish::Function finish_ = nullptr;
  decltype(TransposeFunctions::transpose) turn_ = nullptr;
  ByteWeights weights_;
  ByteImage image_;
  ByteParameters parameters_;
  std::vector<int8_t> ones_;  // weights of single channels
  const int8_t* packed_ = nullptr;
  bool isLast_ = false, isByRows_ = false, isPrepared_ = false;
  int64_t count_ = 0, elementBytes_ = 1, weightsAt_ = 0;
  int64_t units_ = 1, unitPixels_ = 0, blockPixels_ = 0, blocks_ = 0, pieces_ = 1, chunks_ = 1, chunkPieces_ = 1;
};

std::unique_ptr<runtime::KernelInstance> ByteConvolutionKernel::instantiate() const {
  return std::make_unique<ByteConvolutionInstance>(*this);
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::ByteConvolution>();
  if (description == nullptr) throw Unsupported("cpu.byte_convolution cannot compute {}", op.name());
  return std::make_unique<ByteConvolutionKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_byte_convolution() { return {"byte_convolution", 1, &load}; }

}  // namespace tenon::backends::cpu
