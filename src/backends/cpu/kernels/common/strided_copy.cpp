// Rows where both sides walk together, tiles where the two inner axes change places.
#include "backends/cpu/kernels/common/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/simd/copy_simd.h"
#include "core/error.h"
#include "core/outer_walk.h"
#include "core/platform/threads.h"

namespace tenon::backends::cpu {
namespace {

// Of the two axes that change places, a piece of work has so much of the source's and of the destination's innermost
// one.
constexpr int64_t kBand = 128;
constexpr int64_t kLongBand = 2048;  // where the destination's is short
constexpr int64_t kColumns = 256;
constexpr int64_t kGrainBytes = 1 << 16;
constexpr int64_t kLongRow = 16;    // worth a call
constexpr int64_t kShortRow = 512;  // of which one call for many is worth more

// A row, `count` times behind each other: what is there is copied, twice as much each time while that is near.
template <typename T>
void repeat(const T* from, T* to, int64_t width, int64_t count) {
  constexpr int64_t kNear = 1 << 16;  // bytes
  const auto bytes = static_cast<int64_t>(sizeof(T)) * width;
  std::memcpy(to, from, static_cast<size_t>(bytes));
  for (int64_t done = 1; done < count;) {
    const int64_t next = std::min({done, count - done, std::max<int64_t>(1, kNear / bytes)});
    std::memcpy(to + done * width, to, static_cast<size_t>(next * bytes));
    done += next;
  }
}

// Calls body with the constant that `count` is; false where it is none of them.
template <size_t... kCounts, typename Body>
bool withCount(int64_t count, Body&& body) {
  return ((count == static_cast<int64_t>(kCounts) && (body(std::integral_constant<size_t, kCounts>()), true)) || ...);
}

int64_t piecesOf(int64_t extent, int64_t piece) { return (extent + piece - 1) / piece; }
int64_t bandOf(int64_t inner) { return inner <= 16 ? kLongBand : kBand; }

}  // namespace

void StridedCopy::configure(const Dims& space, const Strides& from, int64_t fromOffset, const Strides& to,
                            int64_t toOffset, int elementBytes) {
  space_ = collapse(space, {to, from});
  fromOffset_ = fromOffset;
  toOffset_ = toOffset;
  bytes_ = elementBytes;
  functions_ = transposeFunctions(static_cast<size_t>(elementBytes));
  count_ = space.count();
  // Bring the axis that the source walks forward next to the innermost, so that a tile has both.
  const size_t axes = space_.extents.size();
  tiled_ = false;
  if (axes < 2 || space_.strides[1].back() == 1 || space_.strides[1].back() == 0 || space_.strides[0].back() != 1)
    return;
  for (size_t axis = axes - 1; axis-- > 0;) {
    if (space_.strides[1][axis] != 1) continue;
    for (size_t i = axis; i + 2 < axes; ++i) {
      std::swap(space_.extents[i], space_.extents[i + 1]);
      for (auto& strides : space_.strides) std::swap(strides[i], strides[i + 1]);
    }
    tiled_ = true;
    return;
  }
}

void StridedCopy::run(const void* from, void* to) const {
  if (count_ == 0) return;
  switch (bytes_) {
    case 1: return copy(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to));
    case 2: return copy(static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to));
    case 4: return copy(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to));
    case 8: return copy(static_cast<const uint64_t*>(from), static_cast<uint64_t*>(to));
    default: throw InternalError("copy of elements of {} bytes", bytes_);
  }
}

template <typename T>
void StridedCopy::copy(const T* from, T* to) const {
  from += fromOffset_;
  to += toOffset_;
  const int64_t inner = space_.inner();
  if (!tiled_) {
    // One long row is cut into pieces; many rows are shared out.
    const int64_t outer = space_.outer();
    if (outer == 1 && space_.strides[0].back() == 1 && space_.strides[1].back() == 1) {
      platform::parallelFor(inner, kGrainBytes / bytes_, [&](int64_t begin, int64_t end) {
        std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(T));
      });
      return;
    }
    platform::parallelFor(outer, std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(1, inner * bytes_)),
                          [&](int64_t begin, int64_t end) { rows(from, to, begin, end); });
    return;
  }
  const int64_t second = space_.extents[space_.extents.size() - 2];
  const int64_t band = bandOf(inner);
  const int64_t pieces = space_.outer() / second * piecesOf(second, band) * piecesOf(inner, kColumns);
  const int64_t elements = std::min(second, band) * std::min(inner, kColumns);
  platform::parallelFor(pieces, std::max<int64_t>(1, kGrainBytes / (elements * bytes_)),
                        [&](int64_t begin, int64_t end) { tiles(from, to, begin, end); });
}

template <typename T>
void StridedCopy::rows(const T* from, T* to, int64_t begin, int64_t end) const {
  const int64_t inner = space_.inner();
  const int64_t toStep = space_.strides[0].back();
  const int64_t fromStep = space_.strides[1].back();
  const size_t axes = space_.extents.size();
  // Rows that follow each other along the next axis are reached by a step; only its ends cost divisions.
  const int64_t run = axes < 2 ? 1 : space_.extents[axes - 2];
  const int64_t toNext = axes < 2 ? 0 : space_.strides[0][axes - 2];
  const int64_t fromNext = axes < 2 ? 0 : space_.strides[1][axes - 2];
  OuterWalk<2> walk(space_, axes < 2 ? 0 : axes - 2, begin / run);
  for (int64_t row = begin; row < end; walk.next()) {
    T* out = to + walk.offset(0) + row % run * toNext;
    const T* in = from + walk.offset(1) + row % run * fromNext;
    const int64_t stop = std::min(end, row - row % run + run);
    const bool dense = toStep == 1 && fromStep == 1;
    const auto each = [&](auto&& copyRow) {
      for (; row < stop; ++row, out += toNext, in += fromNext) copyRow(out, in);
    };
    if (dense && fromNext == 0 && toNext == inner && stop - row > 1) {
      repeat(in, out, inner, stop - row);
      row = stop;
    } else if (toStep == 1 && fromStep == 0 && toNext == inner && stop - row > 1 && inner > 8 && inner <= kShortRow) {
      repeatFunction(sizeof(T))(in, fromNext, static_cast<size_t>(stop - row), static_cast<size_t>(inner), out);
      row = stop;
    } else if (dense && withCount<2, 3, 4, 5, 6, 7, 8, 12, 16>(inner, [&](auto count) {
                 each([](T* a, const T* b) {
                   std::memcpy(a, b, decltype(count)::value * sizeof(T));
                 });  // without a call
               })) {
    } else if (dense) {
      each([copyRow = copyRowFunction(), bytes = static_cast<size_t>(inner) * sizeof(T)](T* a, const T* b) {
        copyRow(b, a, bytes);
      });
    } else if (toStep == 1 && inner >= kLongRow) {
      each([&](T* a, const T* b) { functions_.pick(b, fromStep, a, static_cast<size_t>(inner)); });
    } else {
      each([&](T* a, const T* b) {
        for (int64_t i = 0; i < inner; ++i) a[i * toStep] = b[i * fromStep];
      });
    }
  }
}

template <typename T>
void StridedCopy::tiles(const T* from, T* to, int64_t begin, int64_t end) const {
  const size_t axes = space_.extents.size();
  const int64_t inner = space_.extents[axes - 1];
  const int64_t second = space_.extents[axes - 2];
  const int64_t band = bandOf(inner);
  const int64_t bands = piecesOf(second, band);
  const int64_t columns = piecesOf(inner, kColumns);
  const int64_t toSecond = space_.strides[0][axes - 2];
  const int64_t fromInner = space_.strides[1][axes - 1];
  OuterWalk<2> walk(space_, axes - 2, begin / columns / bands);
  int64_t i = begin % columns * kColumns;
  int64_t j = begin / columns % bands * band;
  for (int64_t piece = begin; piece < end; ++piece) {
    functions_.transpose(from + walk.offset(1) + j + i * fromInner, static_cast<size_t>(fromInner),
                         to + walk.offset(0) + i + j * toSecond, static_cast<size_t>(toSecond),
                         static_cast<size_t>(std::min(inner - i, kColumns)),
                         static_cast<size_t>(std::min(second - j, band)));
    i += kColumns;
    if (i < inner) continue;
    i = 0;
    j += band;
    if (j < second) continue;
    j = 0;
    walk.next();
  }
}

}  // namespace tenon::backends::cpu
