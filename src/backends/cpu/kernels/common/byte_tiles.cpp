// Which tiles of products of bytes are the fastest here.
#include "backends/cpu/kernels/common/byte_tiles.h"

#include "core/platform/processor.h"

namespace tenon::backends::cpu {
namespace {

void multiplyByRegisters(const ByteTile& tile) { ByteTileProduct<platform::TileRegisters>(tile).run(); }

// Registers are filled whole, each load of one takes as long as its product, and results leave by way of memory: fewer
// rows, columns or bytes take as long as many, and other tiles do better. By measurement on a Xeon of 2023.
bool isForRegisters(const ByteProductExtents& e) {
  constexpr int64_t kFewRows = 12;
  constexpr int64_t kShort = 160, kShortOfFewColumns = 1024;  // bytes along the depth
  constexpr int64_t kPiece = platform::kTileRegisterBytes;
  const int64_t bytes = e.quads * kByteQuad;
  const int64_t filled = (bytes + kPiece - 1) / kPiece * kPiece;
  return e.rows >= kFewRows && 4 * bytes >= 3 * filled &&
         e.taps * bytes >= (e.columns > kBytePanel ? kShort : kShortOfFewColumns);
}

}  // namespace

ByteTiling byteTiling(const ByteProductExtents& extents) {
  if (isForRegisters(extents) && platform::hasByteTiles()) return {multiplyByRegisters, kMostByteRows, true};
  return {byteTileFunction(), kByteRows, false};
}

}  // namespace tenon::backends::cpu
