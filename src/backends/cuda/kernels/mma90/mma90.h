// Products by warpgroups with packed constant weights: tile shapes, code, weights.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/mma90/mma90_parameters.h"
#include "core/text.h"
#include "ops/op/matmul.h"
#include "ops/op/normalization.h"
#include "ops/op/normalize_rows.h"

namespace tenon::backends::cuda {

constexpr int64_t kMma90MostRows = 256;  // of a tile, as wgmma has it

// How a product is divided; text "64x1x2,4,6", or "64x1x2,4,3x2" with two steps of a stage; an "n" behind it: rows of x
// are normalized; "k": and written; "e": f32 as it is, not as TF32. A "t" or "c": blocks take tile after tile, see
// mma90_persistent.cuh; two parts are then blocks that share rows of x; an "o" behind it: taps are left out. An "r":
// the parts have the columns of whole rows, which are normalized behind the product, see mma90_rows.cuh.
struct Mma90Shape {
  enum class Schedule : uint8_t {
    kOneTile,
    kInTurns,   // many; each of two warpgroups has tiles of its own
    kTogether,  // many; each of two warpgroups has half of a tile's columns
    kWholeRows,
  };

  int64_t rows = 64;         // of x in a tile
  int64_t columnGroups = 1;  // warpgroups of a block, with 64 columns each
  int64_t innerGroups = 1;   // that share the inner extent
  int64_t parts = 1;         // blocks of a cluster, which share it too
  int64_t stages = 1;        // in shared memory
  int64_t depth = 1;         // steps of 128 bytes of the inner extent in a stage; each part has whole stages
  bool normalizes = false;   // the rows of x, by numbers beside the stages, which other warps make
  bool keeps = false;        // these, too
  Schedule schedule = Schedule::kOneTile;
  bool isExact = false;  // of one tile each: f32 operands are sums of two TF32 numbers
  bool omits = false;    // of many tiles each: rows of taps that lie outside of the image

  std::string text() const;
  static Mma90Shape parse(std::string_view text);
  bool operator==(const Mma90Shape&) const = default;

  bool isPersistent() const { return schedule == Schedule::kInTurns || schedule == Schedule::kTogether; }
  bool hasWholeRows() const { return schedule == Schedule::kWholeRows; }
  int64_t tileGroups() const { return columnGroups * (schedule == Schedule::kTogether ? 2 : 1); }  // of 64 columns
  unsigned threads() const {
    if (isPersistent()) return kMma90PersistentThreads;
    return static_cast<unsigned>(32 * (4 * columnGroups * innerGroups + 1 + otherWarps()));
  }
  // Of a thread, at most: what the compiler took for tiles of 32 to 256 rows, and some more.
  int64_t registers() const { return isExact ? rows + 72 : rows / 2 + (normalizes ? 56 : 44); }
  int64_t otherWarps() const {  // as Normalized::threads() says
    if (!normalizes) return 0;
    return keeps ? std::min<int64_t>((rows + 15) / 16, 4) : (rows + 63) / 64;
  }
  int64_t stageBytes() const {
    return depth * (isExact ? 2 : 1) * (tileGroups() * kMma90TileBytes + rows * kMma90Bytes);
  }
  int64_t apart() const { return depth % innerGroups == 0 ? 1 : innerGroups; }  // from a group's stage to its next
  int64_t ringBytes() const;
  int64_t receivedBytes() const;  // what stands beside the stages
  int64_t sharedBytes() const;
  int64_t pieceRows() const {  // of what copies take away at once
    if (hasWholeRows()) return rows;
    return rows % kMma90PieceRows == 0 ? kMma90PieceRows : kMma90SmallPieceRows;
  }
  int64_t copiedRows() const;                // of x, by one copy
  std::string refusal(int64_t steps) const;  // why there is none for an inner extent of so many steps, or empty
  Mma90Order order(int64_t rows, int64_t tilesOfColumns) const;  // of tiles, of a product with so many of 64 columns
};

// Why the product is none of these, or empty: constant weights of halves or f32 (as TF32) in whole packs along the
// inner extent, an epilogue whose operands are single numbers, rows or as large as the result.
std::string mma90Refusal(const ops::MatMul& op, const runtime::Shapes& shapes);
// How each input of the epilogue goes along with the result: 'w' as a whole, 'c' by column, 's' one number.
std::string mma90Kinds(const runtime::Shapes& shapes);

struct Mma90Weights;

// Along H, W and D: the pixels that a window of x makes, and the taps of the kernel. Of deconvolutions these are as
// many times more as windows of x have places; of convolutions a window has what all of the pixels read.
struct Mma90Cells {
  int64_t cell[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1};

  int64_t pixels() const { return cell[0] * cell[1] * cell[2]; }
  bool gathers = false;  // of a convolution
  int64_t taps(int axis) const {
    const int64_t reach = kernel[axis] + cell[axis] - 1;
    return gathers ? reach : reach / cell[axis];
  }
  std::string text() const;  // as read() takes it, behind "^"
  static Mma90Cells read(TextReader& in);
  bool fits(const Mma90Weights& weights) const;
  // Of the kernel [inner,channels,taps], of convolutions [channels,inner,taps], as windows have it,
  // [cell,channels,inner,taps], zeros where it has no tap.
  template <typename T>
  std::vector<T> spread(const T* w, const Mma90Weights& weights) const;
};

// Constant weights: `columns` columns of y, `inner` elements (channels) of x, and as many for each tap of windows. Of
// groups of columns each reads `inner` channels of its own: tiles hold several groups where these are narrow, with
// zeros for the channels of the others (which infinities of those make NaN).
struct Mma90Weights {
  int64_t columns = 0, inner = 0;
  int64_t taps = 0;         // 0: x is a matrix, else its rows are windows of images
  bool transposed = false;  // of a matrix: [columns,inner], else [inner,columns]; windows: [columns,inner,taps]
  int64_t bytes = 2;        // of an element; those of 4 are rounded to TF32
  bool scaled = false;      // a factor and a shift for each element of rows of x are part of it, see packScaled()
  int64_t groups = 1;       // of windows
  bool isDeep = false;      // windows of volumes
  int64_t moreSteps = 0;    // of another product that is added, behind these
  bool moreIsWhole = true;  // isWhole() of that one
  bool isExact = false;     // elements of 4 bytes as two TF32 numbers: tiles of the first, of the second behind each
  std::optional<Mma90Cells> subpixels;  // columns are channels of a cell's pixels

  // Of the product, w as [inner,columns].
  static Mma90Weights of(const runtime::Shapes& shapes, int64_t taps, int64_t groups, bool scaled);

  int64_t together() const;  // groups that tiles read together
  int64_t partColumns() const { return columns / groups * together(); }
  int64_t partInner() const { return inner * together(); }
  int64_t partTiles() const { return (partColumns() + kMma90Columns - 1) / kMma90Columns; }
  int64_t tiles() const { return (groups + together() - 1) / together() * partTiles(); }  // of 64 columns
  int64_t columnsAtOnce() const;  // that a thread finishes; no pack of them belongs to two parts

  int64_t ofStep() const { return kMma90Bytes / bytes; }                      // of the inner extent
  int64_t chunks() const { return (partInner() + ofStep() - 1) / ofStep(); }  // steps of a tap
  bool isWhole() const { return (taps != 0 || inner % ofStep() == 0) && moreIsWhole; }
  // Whether stages may have so many steps: those of one product, and of a matrix whole ones.
  bool allowsDepth(int64_t depth) const { return depth == 1 || (isWhole() && ownSteps() % depth == 0); }
  int64_t ownSteps() const { return chunks() * (taps == 0 ? 1 : taps); }
  int64_t steps() const { return ownSteps() + moreSteps; }
  void add(const Mma90Weights& more) {
    moreSteps = more.steps();
    moreIsWhole = more.isWhole();
  }
  int64_t count() const { return columns * inner * (taps == 0 ? 1 : taps); }
  int64_t channels() const { return subpixels ? columns / subpixels->pixels() : columns; }  // of a pixel
  int64_t sourceCount() const;  // of the elements that are packed
  std::string recipe() const;
  size_t packedBytes() const;
  // In the order of tiles: for each 64 columns, for each tap each step of the inner extent, columns as rows of 128
  // bytes whose pieces of 16 lie as products want them; zeros behind the ends.
  void pack(const void* w, void* to) const;
  // Of normalized rows: factors of the inner extent multiply w, each column by a power of two more, so that its
  // greatest element stays between 1 and 2 and halves lose nothing of it; behind the tiles follow in f32, for the 64
  // columns of each tile, what undoes that power, the sums of the packed columns, and the shifts as they come out of
  // the product; and the factors and shifts themselves. All of one type of halves.
  void packScaled(const void* w, const void* factors, const void* shifts, DataType type, void* to) const;
  int64_t stepBytes() const { return kMma90TileBytes * (isExact ? 2 : 1); }  // of a tile
  size_t tileBytes() const;                                                  // without what is behind them
  int64_t paddedColumns() const { return tiles() * kMma90Columns; }

 private:
  void packParts(const uint32_t* w, uint32_t* to) const;
};

// Blocks that run at once, as clusters of so many find place in groups of 16 or 18 multiprocessors.
int64_t mma90Clustered(int64_t blocks);

// The shapes that promise most for so many rows of x, best first. Stages have one step each where rows of x are no
// whole steps.
std::vector<Mma90Shape> mma90Shapes(int64_t rows, const Mma90Weights& weights, size_t most, bool keeps = false);

// Those in which blocks take tile after tile, where there are tiles for most of the chip, best first. Rows are
// normalized, and moments of the result computed, by launches of their own beside those.
std::vector<Mma90Shape> mma90PersistentShapes(int64_t rows, const Mma90Weights& weights, size_t most,
                                              bool keeps = false);

// A composite of a product with constant weights and what moves a normalization of rows into products: the moments of
// its result, or the normalization of its rows by their moments, which may be the second output.
struct Mma90Composite {
  static constexpr size_t kNormalizedWeights = 4;  // behind x, its moments, factors and shifts
  struct Product {
    std::vector<runtime::TensorShape> inputs, outputs;
    const SymbolValues* symbols = nullptr;

    runtime::Shapes shapes() const { return {inputs, outputs, symbols}; }
  };
  ops::MatMul product;
  std::optional<ops::NormalizeRows>
      norm;               // inputs: x, moments, factors and shifts of its elements, those of the product
  bool keeps = false;     // the normalized rows are the second output
  bool measures = false;  // the moments of the result are
  std::string refusal;    // why the operator is none of these, or empty

  explicit Mma90Composite(const ops::Operator& op);
  size_t weights() const { return norm ? kNormalizedWeights : 1; }  // which input they are
  std::string shapesRefusal(const runtime::Shapes& shapes) const;   // beside those of the product
  Product productOf(const runtime::Shapes& shapes) const;
  Mma90Weights weightsOf(const Product& product) const;
};

// A composite of a product with constant weights and the normalization of the rows of its result, which may be the
// second output. Inputs: those of the product, then scale and shift.
struct Mma90RowsComposite {
  ops::MatMul product;
  ops::Normalization norm;  // of one tensor
  bool keeps = false;
  std::string refusal;  // why the operator is none of these, or empty

  explicit Mma90RowsComposite(const ops::Operator& op);
  Mma90Composite::Product productOf(const runtime::Shapes& shapes) const;
  std::string shapesRefusal(const runtime::Shapes& shapes) const;
};
// The shapes in which a cluster has whole rows, best first.
std::vector<Mma90Shape> mma90RowsShapes(int64_t rows, const Mma90Weights& weights, size_t most);

// Parameters are "columns,inner,taps;shape;kinds types", of the product, or "columns,inner,taps,groups;..";
// taps of volumes are followed by d, where columns are of several pixels these are followed by "^" and their cells and
// kernel.
struct Mma90Record {
  ops::MatMul op;
  std::optional<ops::NormalizeRows> norm;  // of the rows of x
  bool keeps = false;                      // writes these too
  bool measures = false;                   // writes the moments of y
  std::optional<ops::Normalization> ends;  // of the rows of y
  Mma90Weights weights;
  Mma90Shape shape;
  std::string kinds;
  Types types;
  std::optional<Mma90Weights> more;  // of the product that is added, "+inner,taps" behind the groups
  size_t sumWeights[2] = {1, 0};     // which inputs the weights of both are

  // `params` of a record whose operator is, or contains, this product.
  Mma90Record(ops::MatMul product, const plan::KernelRecord& record, bool isSum = false);
  Mma90Record(const Mma90Composite& op, const plan::KernelRecord& record);
  Mma90Record(const Mma90RowsComposite& op, const plan::KernelRecord& record);
  // `shapes`: of the product, windows as rows of their channels.
  static std::string params(const runtime::Shapes& shapes, const Mma90Weights& weights, const Mma90Shape& shape,
                            const Mma90Weights* more = nullptr);
  Code code() const;
  std::string recipe() const;  // of the packed weights
  size_t weightsInput() const { return norm ? Mma90Composite::kNormalizedWeights : sumWeights[0]; }
  int64_t windowAxes() const { return weights.taps == 0 ? 0 : weights.isDeep ? 3 : 2; }
  // Whether tiles of y, and of what the epilogue reads as y is written, go by copies: see mma90_carried.cuh.
  bool carries() const;
  bool mayCarry() const;                                     // by its types and operands
  size_t wholeInput() const { return kinds.find('w') + 1; }  // the first of the epilogue that is like y, else 0

 private:
  Code persistentCode() const;
  std::string moreText() const;
};

// The product of a warpgroup and so many rows, as PTX.
std::string mma90ProductText(int64_t rows, DataType type);

// Why this machine has no such kernels, or empty.
std::string mma90Missing();

}  // namespace tenon::backends::cuda
