// Chooses between tiles and packs of elements.
#include "backends/cuda/kernels/movement/strided_copy.h"

#include <algorithm>

#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kLeastTiled = 16;  // below, the order of the target reads whole sectors anyway
constexpr unsigned kTileThreads = 256;

}  // namespace

Code copyCode() { return {"copy.cu", {}, {}}; }

void StridedCopy::configure(const Module& module, const Dims& space, const Strides& from, int64_t fromOffset,
                            const Strides& to, int64_t toOffset, int elementBytes) {
  module_ = &module;
  space_ = collapse(space, {to, from});
  fromOffset_ = fromOffset;
  toOffset_ = toOffset;
  bytes_ = elementBytes;
  count_ = space.count();
  whole_ = nullptr;
  if (count_ == 0) return;
  configureInterleaving();
  tiled_ = configureTiles();
  if (tiled_) {
    configurePackedTiles();
    return;
  }
  // A source that stands still along the innermost axis has no packs there.
  mostPack_ = space_.strides[1].back() == 1 ? packWidth(space_, 16 / bytes_) : 1;
  while (mostPack_ > 1 && (fromOffset_ % mostPack_ != 0 || toOffset_ % mostPack_ != 0)) mostPack_ /= 2;
  configureElements(mostPack_);
}

bool StridedCopy::configureTiles() {
  const size_t axes = space_.extents.size();
  const auto& to = space_.strides[0];
  const auto& from = space_.strides[1];
  if (axes < 2 || to.back() != 1 || from.back() == 1 || space_.extents.back() < kLeastTiled) return false;
  const auto found = std::find(from.begin(), from.end() - 1, 1);
  if (found == from.end() - 1) return false;
  const auto b = static_cast<size_t>(found - from.begin());
  if (space_.extents[b] < kLeastTiled) return false;
  tiles_ = {};
  tiles_.a = space_.extents.back();
  tiles_.b = space_.extents[b];
  tiles_.toB = to[b];
  tiles_.fromA = from.back();
  LoopSpace outer{{}, {{}, {}}};
  int64_t planes = 1;
  for (size_t axis = 0; axis + 1 < axes; ++axis) {
    if (axis == b) continue;
    outer.extents.push_back(space_.extents[axis]);
    outer.strides[0].push_back(to[axis]);
    outer.strides[1].push_back(from[axis]);
    planes *= space_.extents[axis];
  }
  if (outer.extents.empty()) outer = {{1}, {{0}, {0}}};
  const int64_t tile = bytes_ < 4 ? 64 : 32;
  const int64_t tilesA = (tiles_.a + tile - 1) / tile;
  const int64_t tilesB = (tiles_.b + tile - 1) / tile;
  blocks_ = tilesA * tilesB * planes;
  if (blocks_ >= int64_t{1} << 31) return false;
  tiles_.tilesA = dividerBy(tilesA);
  tiles_.tilesB = dividerBy(tilesB);
  setSpace(tiles_.space, outer);
  function_ = module_->function(fmt::format("tenon_tile_{}", bytes_));
  return true;
}

// Whether offsets, and the strides of all axes but the last and one more, are multiples of a pack in both operands.
bool StridedCopy::inWholePacks(size_t leaveOut, int64_t pack) const {
  if (fromOffset_ % pack != 0 || toOffset_ % pack != 0) return false;
  for (size_t axis = 0; axis + 1 < space_.extents.size(); ++axis) {
    if (axis != leaveOut && (space_.strides[0][axis] % pack != 0 || space_.strides[1][axis] % pack != 0)) return false;
  }
  return true;
}

void StridedCopy::configurePackedTiles() {
  constexpr int64_t kPack = 8;
  if (bytes_ != 2 || tiles_.a % kPack != 0 || tiles_.b % kPack != 0 || tiles_.toB % kPack != 0 ||
      tiles_.fromA % kPack != 0)
    return;
  const auto& from = space_.strides[1];
  const auto b = static_cast<size_t>(std::find(from.begin(), from.end() - 1, 1) - from.begin());
  if (!inWholePacks(b, kPack)) return;
  whole_ = module_->function("tenon_tile_2_packed");
  wholeBlocks_ = blocks_;
  wholeTiles_ = tiles_;
}

void StridedCopy::configureInterleaving() {
  const size_t axes = space_.extents.size();
  const auto& to = space_.strides[0];
  const auto& from = space_.strides[1];
  const int64_t planes = space_.extents.back();
  if (axes < 2 || to.back() != 1 || planes < 2 || planes > 4 || (bytes_ != 2 && bytes_ != 4)) return;
  const size_t b = axes - 2;
  const int64_t pack = 16 / bytes_;
  if (from[b] != 1 || to[b] != planes || space_.extents[b] % pack != 0 || from.back() % pack != 0 ||
      !inWholePacks(b, pack))
    return;
  LoopSpace outer{{}, {{}, {}}};
  for (size_t axis = 0; axis < b; ++axis) {
    outer.extents.push_back(space_.extents[axis]);
    outer.strides[0].push_back(to[axis]);
    outer.strides[1].push_back(from[axis]);
  }
  if (outer.extents.empty()) outer = {{1}, {{0}, {0}}};
  wholeTiles_ = {};
  wholeTiles_.a = count_ / planes / pack;
  wholeTiles_.fromA = from.back();
  wholeTiles_.tilesB = dividerBy(space_.extents[b] / pack);
  setSpace(wholeTiles_.space, outer);
  if (wholeTiles_.a >= int64_t{1} << 31) return;
  wholeBlocks_ = (wholeTiles_.a + kTileThreads - 1) / kTileThreads;
  whole_ = module_->function(fmt::format("tenon_interleave_{}_{}", bytes_, planes));
}

void StridedCopy::configureElements(int pack) {
  pack_ = pack;
  LoopSpace space = space_;
  space.extents.back() /= pack;
  for (auto& strides : space.strides) {
    for (size_t axis = 0; axis + 1 < strides.size(); ++axis) strides[axis] /= pack;
  }
  setSpace(elements_.space, space);
  threads_ = blockSize((elements_.space.count + kCopiesOfThread - 1) / kCopiesOfThread);
  const int64_t perBlock = threads_ * kCopiesOfThread;
  blocks_ = (elements_.space.count + perBlock - 1) / perBlock;
  checkInternal(blocks_ < int64_t{1} << 31, "a copy of {} elements", count_);
  function_ = module_->function(fmt::format("tenon_copy_{}{}", pack * bytes_, isWide(elements_.space) ? "_wide" : ""));
}

void StridedCopy::launch(const void* from, void* to, void* stream) {
  if (count_ == 0) return;
  const auto* source = static_cast<const char*>(from) + fromOffset_ * bytes_;
  auto* target = static_cast<char*>(to) + toOffset_ * bytes_;
  if (whole_ != nullptr && isAligned(source, 16) && isAligned(target, 16)) {
    wholeTiles_.from = source;
    wholeTiles_.to = target;
    launchGrid(whole_, static_cast<unsigned>(wholeBlocks_), 1, 1, kTileThreads, &wholeTiles_, stream);
    return;
  }
  if (tiled_) {
    tiles_.from = source;
    tiles_.to = target;
    launchGrid(function_, static_cast<unsigned>(blocks_), 1, 1, kTileThreads, &tiles_, stream);
    return;
  }
  int pack = mostPack_;
  while (pack > 1 && (!isAligned(source, static_cast<size_t>(pack * bytes_)) ||
                      !isAligned(target, static_cast<size_t>(pack * bytes_))))
    pack /= 2;
  if (pack != pack_) configureElements(pack);
  elements_.from = source;
  elements_.to = target;
  launchGrid(function_, static_cast<unsigned>(blocks_), 1, 1, threads_, &elements_, stream);
}

void WideningCopy::configure(const Module& module, DataType type, int64_t rows, int64_t columns, int64_t toPitch) {
  function_ = module.function(type == DataType::kF16 ? "tenon_widen_f16" : "tenon_widen_bf16");
  parameters_ = {nullptr, nullptr, rows, columns, toPitch};
}

void WideningCopy::launch(const void* from, void* to, void* stream) {
  constexpr unsigned kThreads = 256;
  constexpr int64_t kColumns = kWidenedOfThread * kThreads;  // of a block
  constexpr int64_t kMostRows = 65535;                       // of a grid
  parameters_.from = from;
  parameters_.to = static_cast<float*>(to);
  launchGrid(function_, static_cast<unsigned>((parameters_.columns + kColumns - 1) / kColumns),
             static_cast<unsigned>(std::min(parameters_.rows, kMostRows)), 1, kThreads, &parameters_, stream);
}

}  // namespace tenon::backends::cuda
