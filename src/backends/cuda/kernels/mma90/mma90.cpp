// Shapes of tiles, packed weights.
#include "backends/cuda/kernels/mma90/mma90.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/cuda/cublas/flat_product.h"
#include "backends/cuda/driver/chip.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostParts = 8;   // blocks of a portable cluster
constexpr int64_t kMostGroups = 4;  // warpgroups of a block
constexpr int64_t kMostDepth = 8;
constexpr int64_t kMostRegisters = 224;  // of a thread
constexpr int64_t kPackBytes = 16;
constexpr int64_t kMostSums =
    384;  // runs of 64 columns and rows of a warpgroup whose registers have place for its sums

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

// wgmma of 64 x rows x 32 bytes.
std::string mma90ProductText(int64_t rows, DataType type) {
  std::string registers;
  std::string operands;
  for (int64_t i = 0; i < rows / 2; ++i) {
    registers += fmt::format("{}%{}", i == 0 ? "" : ",", i);
    operands += fmt::format("{}\"+f\"(c[{}][{}])", i == 0 ? "" : ", ", i / 4, i % 4);
  }
  const bool isHalf = bits(type) == 16;
  const std::string name = isHalf ? cudaName(type) : "tf32";
  return fmt::format(
      "#if defined(__CUDA_ARCH_FEAT_SM90_ALL)\n"
      "template <int kRows>\nstruct Products;\ntemplate <>\nstruct Products<{0}> {{\n"
      "  template <bool kMore = true>\n"
      "  __device__ __forceinline__ static void add(float (*c)[4], const unsigned char* a, const unsigned char* b) {{\n"
      "    asm volatile(\"{{.reg .pred p; setp.ne.b32 p, %{8}, 0;\\n\"\n"
      "      \"wgmma.mma_async.sync.aligned.m64n{0}k{6}.f32.{1}.{1} {{{2}}}, %{4}, %{5}, p, 1, 1{7};}}\"\n"
      "      : {3} : \"l\"(groupOperand(a)), \"l\"(groupOperand(b)), \"n\"((int)kMore));\n  }}\n}};\n#endif\n",
      rows, name, registers, operands, rows / 2, rows / 2 + 1, isHalf ? 16 : 8, isHalf ? ", 0, 0" : "", rows / 2 + 2);
}

std::string Mma90Shape::text() const {
  return fmt::format("{}x{}x{},{},{}{}{}{}{}", rows, columnGroups, innerGroups, parts, stages,
                     depth == 1 ? "" : fmt::format("x{}", depth),
                     keeps        ? "k"
                     : normalizes ? "n"
                                  : "",
                     schedule == Schedule::kInTurns    ? "t"
                     : schedule == Schedule::kTogether ? "c"
                     : hasWholeRows()                  ? "r"
                     : isExact                         ? "e"
                                                       : "",
                     omits ? "o" : "");
}

Mma90Shape Mma90Shape::parse(std::string_view text) {
  TextReader in(text, "the shape of a product by warpgroups");
  Mma90Shape shape;
  shape.rows = in.integer();
  in.expect("x");
  shape.columnGroups = in.integer();
  in.expect("x");
  shape.innerGroups = in.integer();
  in.expect(",");
  shape.parts = in.integer();
  in.expect(",");
  shape.stages = in.integer();
  if (in.accept("x")) shape.depth = in.integer();
  shape.keeps = in.accept("k");
  shape.normalizes = shape.keeps || in.accept("n");
  if (in.accept("t")) shape.schedule = Schedule::kInTurns;
  else if (in.accept("c")) shape.schedule = Schedule::kTogether;
  else if (in.accept("r")) shape.schedule = Schedule::kWholeRows;
  else shape.isExact = !shape.normalizes && in.accept("e");
  shape.omits = shape.isPersistent() && in.accept("o");
  return shape;
}

int64_t Mma90Shape::ringBytes() const {
  if (schedule != Schedule::kOneTile) return stages * stageBytes();
  const int64_t sums = innerGroups * rows * (columnGroups * kMma90Columns + 4) * 4;
  return divided(std::max(stages * stageBytes(), sums), 128) * 128;
}

int64_t Mma90Shape::sharedBytes() const {
  if (isPersistent()) return kMma90HeadBytes + ringBytes() + kMma90EndingBytes;
  // Two numbers of each row from each block.
  if (hasWholeRows()) return kMma90HeadBytes + ringBytes() + rows * 8 * parts;
  return kMma90HeadBytes + ringBytes() + receivedBytes();
}

int64_t Mma90Shape::copiedRows() const {
  if (isPersistent()) return rows / parts;
  if (!hasWholeRows()) return rows;
  int64_t copies = parts;  // as mma90_rows.cuh counts them
  while (rows / 8 % copies != 0) --copies;
  return rows / copies;
}

int64_t Mma90Shape::receivedBytes() const {
  const int64_t numbers = normalizes ? 8 * rows + 12 * columnGroups * kMma90Columns : 0;
  // Shares of the sums are of whole rows of 64 columns, where moments are wanted.
  return numbers + (parts == 1 ? 0 : (rows * columnGroups + 8) * kMma90Columns * 4);
}

std::string Mma90Shape::refusal(int64_t steps) const {
  if (isPersistent()) {
    const bool fits = rows >= 16 && rows <= kMma90MostRows && rows % 16 == 0 && columnGroups >= 1 && innerGroups == 1 &&
                      rows * columnGroups <= kMostSums && parts >= 1 && parts <= 2 && stages >= 2 &&
                      stages <= kMma90MostStages && depth == 1 && sharedBytes() <= kMma90MostShared;
    return fits ? "" : fmt::format("tiles {} are not supported", text());
  }
  if (hasWholeRows()) {
    // The tile of y and the sums of warps take the place of stages behind the products; sums are less than one.
    const int64_t slots = divided(rows * columnGroups * kMma90Bytes, stageBytes());
    const bool fits = rows >= 16 && rows <= kMma90MostRows && rows % 16 == 0 && columnGroups >= 1 &&
                      columnGroups <= kMostGroups && innerGroups == 1 && depth == 1 && !normalizes && parts >= 1 &&
                      parts <= kMostParts && stages <= kMma90MostStages &&
                      registers() * divided(threads(), 128) * 128 <= registersOfMultiprocessor() && stages > slots &&
                      sharedBytes() <= kMma90MostShared;
    return fits ? "" : fmt::format("tiles {} are not supported", text());
  }
  const bool inRange = rows >= 8 && rows <= kMma90MostRows && rows % 8 == 0 && columnGroups >= 1 && innerGroups >= 1 &&
                       columnGroups <= kMostGroups && innerGroups <= kMostGroups &&
                       columnGroups * innerGroups <= kMostGroups && registers() <= kMostRegisters && parts >= 1 &&
                       parts <= kMostParts && stages >= 1 && stages <= kMma90MostStages && depth >= 1 &&
                       depth <= kMostDepth && sharedBytes() <= kMma90MostShared && parts <= steps;
  // A group gives a place back when it has its next stage. Where groups take turns and places are used again, each
  // place belongs to one group: a barrier tells only one phase from the next, so that another group, which has not
  // waited for the phase before, could take data for its own that has not come.
  const bool hasWholeStages = inRange && (depth == 1 || steps % (parts * depth) == 0);
  const bool goesOn = hasWholeStages &&
                      ((stages > apart() && stages % apart() == 0) || stages >= divided(divided(steps, parts), depth));
  return goesOn ? "" : fmt::format("tiles {} of {} stages are not supported", text(), steps);
}

std::string mma90Refusal(const ops::MatMul& op, const runtime::Shapes& shapes) {
  const auto& x = shapes.inputs[0];
  const auto& w = shapes.inputs[1];
  const auto& y = shapes.outputs[0];
  if (x.dtype != DataType::kF16 && x.dtype != DataType::kBF16 && x.dtype != DataType::kF32)
    return fmt::format("operands of {}; f32, f16 and bf16 are supported", name(x.dtype));
  if (w.dtype != x.dtype) return fmt::format("operands of {} and {}", name(x.dtype), name(w.dtype));
  if (!isFloating(y.dtype) || bits(y.dtype) < 16) return fmt::format("a result of {}", name(y.dtype));
  if (x.dims.rank < 2 || w.dims.rank < 2) return "a vector";
  auto refusal = flatProductRefusal(
      op, shapes.inputs.size(), [&](size_t i) -> const Dims& { return shapes.inputs[i].dims; }, y.dims);
  if (!refusal.empty()) return refusal;
  const int64_t inner = x.dims[x.dims.rank - 1];
  const int64_t pack = kPackBytes / (bits(x.dtype) / 8);
  if (inner % pack != 0) return fmt::format("an inner extent of {}; only multiples of {} are supported", inner, pack);
  if (w.dims.count() == 0) return "the weights are empty";
  if (x.dims.count(0, x.dims.rank - 1) != y.dims.count(0, y.dims.rank - 1)) return "the first operand is repeated";
  const int64_t rows = y.dims.count(0, y.dims.rank - 1);
  const int64_t most = std::max(inner, y.dims[y.dims.rank - 1]);
  if (rows >= int64_t{1} << 30 || most >= kMma90MostExtent)
    return fmt::format("{} rows, {} columns or an inner extent of {}", rows, y.dims[y.dims.rank - 1], inner);
  return {};
}

std::string Mma90Weights::recipe() const {
  auto order = taps != 0 ? fmt::format(" taps {}", taps) : std::string(transposed ? " transposed" : "");
  if (groups > 1) order += fmt::format(" groups {}", groups);
  if (subpixels) order += subpixels->text();
  return fmt::format("mma90 {},{}{}{}{}", columns, inner, order,
                     isExact      ? " tf32 and rest"
                     : bytes == 4 ? " tf32"
                                  : "",
                     scaled ? " scaled" : "");
}

size_t Mma90Weights::tileBytes() const { return static_cast<size_t>(tiles() * steps() * stepBytes()); }

Mma90Weights Mma90Weights::of(const runtime::Shapes& shapes, int64_t taps, int64_t groups, bool scaled) {
  const auto& x = shapes.inputs[0];
  const auto& y = shapes.outputs[0].dims;
  return {y[y.rank - 1], x.dims[x.dims.rank - 1] / groups, taps, false, bits(x.dtype) / 8, scaled, groups};
}

int64_t Mma90Weights::together() const {
  if (groups == 1) return 1;
  return std::clamp<int64_t>(kMma90Columns / std::max(inner, columns / groups), 1, groups);
}

int64_t Mma90Weights::columnsAtOnce() const {
  constexpr int64_t kAtOnce = 8;
  return channels() % kAtOnce == 0 && partColumns() % kAtOnce == 0 ? kAtOnce : 1;
}

size_t Mma90Weights::packedBytes() const {
  const int64_t behind = scaled ? 3 * paddedColumns() + 2 * inner : 0;
  return tileBytes() + static_cast<size_t>(behind) * sizeof(float);
}

namespace {

constexpr uint32_t kExponent = 0x7f800000, kHalf = 0x1000, kSeen = 0xffffe000;

uint16_t packedElement(uint16_t bits) { return bits; }
uint32_t packedElement(uint32_t bits) {  // to the nearest of 11 bits, as products see no more of them
  return (bits & kExponent) == kExponent ? bits : (bits + kHalf) & kSeen;
}
// What products do not see of an element, as restOf() of mma90_parts.cuh finds it.
uint32_t restOf(uint32_t bits) {
  constexpr float kLeast = 0x1p-40f;
  if ((bits & kExponent) == kExponent) return bits;
  const auto seen = std::bit_cast<float>(bits & kSeen);
  const float rest = (std::bit_cast<float>(bits) - seen) + seen * kLeast;
  return (std::bit_cast<uint32_t>(rest) + kHalf) & kSeen;
}
uint32_t seenOf(uint32_t bits) { return (bits & kExponent) == kExponent ? bits : bits & kSeen; }

template <typename T>
void packElements(const Mma90Weights& weights, const T* w, T* to) {
  constexpr int64_t kPack = kPackBytes / sizeof(T), kInner = kMma90Bytes / sizeof(T),
                    kTile = kMma90TileBytes / sizeof(T);
  const int64_t columns = weights.columns, inner = weights.inner, taps = weights.taps;
  const int64_t alongInner = taps != 0 ? taps : weights.transposed ? 1 : columns;
  const int64_t alongColumns = taps != 0 ? inner * taps : weights.transposed ? inner : 1;
  const int64_t ofGroup = columns / weights.groups;
  std::memset(to, 0, weights.tileBytes());
  for (int64_t tile = 0; tile < weights.tiles(); ++tile) {
    const int64_t part = tile / weights.partTiles();
    const int64_t firstColumn = part * weights.partColumns() + tile % weights.partTiles() * kMma90Columns;
    const int64_t end = std::min({firstColumn + kMma90Columns, (part + 1) * weights.partColumns(), columns});
    for (int64_t step = 0; step < weights.ownSteps(); ++step, to += kTile) {
      const int64_t tap = step / weights.chunks();
      const int64_t first = part * weights.partInner() + step % weights.chunks() * kInner;
      if (weights.groups == 1 && alongColumns < alongInner) {  // in the order of memory
        for (int64_t k = 0; k < std::min(inner - first, kInner); ++k) {
          const T* const from = w + (first + k) * alongInner + firstColumn * alongColumns + tap;
          for (int64_t r = 0; r < end - firstColumn; ++r)
            to[r * kInner + ((k / kPack ^ r % 8) * kPack + k % kPack)] = packedElement(from[r * alongColumns]);
        }
        continue;
      }
      for (int64_t column = firstColumn; column < end; ++column) {
        const int64_t r = column - firstColumn;
        const int64_t own = column / ofGroup * inner;  // the channels of its group
        const T* const from = w + column * alongColumns + (first - own) * alongInner + tap;
        T* const row = to + r * kInner;
        const int64_t stop = std::min(own + inner - first, kInner);
        for (int64_t k = std::max<int64_t>(own - first, 0); k < stop;) {
          T* const pack = row + (k / kPack ^ r % 8) * kPack;
          const int64_t next = std::min(stop, (k / kPack + 1) * kPack);
          for (; k < next; ++k) pack[k % kPack] = packedElement(from[k * alongInner]);
        }
      }
    }
  }
}

}  // namespace

void Mma90Weights::pack(const void* w, void* to) const {
  if (subpixels) {
    auto windows = *this;
    windows.subpixels.reset();
    if (bytes == 4) return windows.pack(subpixels->spread(static_cast<const uint32_t*>(w), *this).data(), to);
    return windows.pack(subpixels->spread(static_cast<const uint16_t*>(w), *this).data(), to);
  }
  if (isExact) return packParts(static_cast<const uint32_t*>(w), static_cast<uint32_t*>(to));
  if (bytes == 4) packElements(*this, static_cast<const uint32_t*>(w), static_cast<uint32_t*>(to));
  else packElements(*this, static_cast<const uint16_t*>(w), static_cast<uint16_t*>(to));
}

// The same tiles twice: what products see of them, and the rest.
void Mma90Weights::packParts(const uint32_t* w, uint32_t* to) const {
  auto whole = *this;
  whole.isExact = false;
  std::vector<uint32_t> part(static_cast<size_t>(count()));
  std::vector<uint32_t> tiles(whole.tileBytes() / sizeof(uint32_t));
  constexpr size_t kTile = kMma90TileBytes / sizeof(uint32_t);
  for (size_t rest = 0; rest < 2; ++rest) {
    std::transform(w, w + part.size(), part.begin(), rest == 0 ? seenOf : restOf);
    packElements(whole, part.data(), tiles.data());
    for (size_t i = 0; i < tiles.size() / kTile; ++i)
      std::memcpy(to + (2 * i + rest) * kTile, tiles.data() + i * kTile, kMma90TileBytes);
  }
}

}  // namespace tenon::backends::cuda
