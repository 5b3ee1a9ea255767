// Rows whose elements are picked by one table: elements of four bytes by the lanes of whole vectors, narrower ones by
// the bytes of vectors of 16. Highway wants its headers in this order.
// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/simd/table_pick_simd.cpp"
#include "backends/cpu/kernels/simd/simd_targets.h"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

#include <algorithm>
#include <limits>

#include "backends/cpu/kernels/simd/table_pick_simd.h"

HWY_BEFORE_NAMESPACE();
namespace tenon::backends::cpu::HWY_NAMESPACE {
namespace table_picking {

#if HWY_TARGET != HWY_SCALAR

namespace hn = hwy::HWY_NAMESPACE;

// One vector of elements to its place in each row.
template <typename D, typename V, typename T>
HWY_INLINE void storeRows(D d, V value, T* to, const PickedRows& rows) {
  for (int64_t row = 0; row < rows.count; ++row, to += rows.step) hn::StoreU(value, d, to);
}

template <bool kTwo, size_t kMost>
void words(const TablePick& pick, const void* vfrom, void* vto, const PickedRows& rows) {
  const hn::CappedTag<uint32_t, kMost> d;
  const size_t lanes = hn::Lanes(d);
  const auto* const from = static_cast<const uint32_t*>(vfrom);
  auto* const to = static_cast<uint32_t*>(vto);
  const auto* index = static_cast<const uint32_t*>(pick.lanes());
  const auto most = hn::Set(d, static_cast<uint32_t>(lanes - 1));
  for (const auto& piece : pick.pieces()) {
    const auto places = hn::LoadU(d, index);
    index += lanes;
    if constexpr (kTwo) {
      const auto within = hn::IndicesFromVec(d, hn::And(places, most));
      const auto first = hn::TableLookupLanes(hn::LoadU(d, from + piece.from), within);
      const auto second = hn::TableLookupLanes(hn::LoadU(d, from + piece.from + lanes), within);
      storeRows(d, hn::IfThenElse(hn::Gt(places, most), second, first), to + piece.to, rows);
    } else {
      storeRows(d, hn::TableLookupLanes(hn::LoadU(d, from + piece.from), hn::IndicesFromVec(d, places)), to + piece.to,
                rows);
    }
  }
}

// `kBytes` of an element; the table has one entry for each byte.
template <size_t kBytes, bool kTwo>
void narrow(const TablePick& pick, const void* vfrom, void* vto, const PickedRows& own) {
  const PickedRows rows{own.count, own.step * static_cast<int64_t>(kBytes)};
  constexpr size_t kVector = 16;
  const hn::FixedTag<int8_t, kVector> d;
  const auto* const from = static_cast<const int8_t*>(vfrom);
  auto* const to = static_cast<int8_t*>(vto);
  const auto* index = static_cast<const int8_t*>(pick.lanes());
  const auto half = hn::Set(d, static_cast<int8_t>(kVector));
  const auto outside = hn::Set(d, std::numeric_limits<int8_t>::min());  // for which 0 is picked
  for (const auto& piece : pick.pieces()) {
    const int8_t* const source = from + static_cast<size_t>(piece.from) * kBytes;
    const auto places = hn::LoadU(d, index);
    index += kVector;
    auto picked = hn::Zero(d);
    if constexpr (kTwo) {
      const auto isFirst = hn::VecFromMask(d, hn::Lt(places, half));
      const auto first = hn::Or(places, hn::AndNot(isFirst, outside));
      const auto second = hn::Or(hn::Sub(places, half), hn::And(isFirst, outside));
      picked = hn::Or(hn::TableLookupBytesOr0(hn::LoadU(d, source), first),
                      hn::TableLookupBytesOr0(hn::LoadU(d, source + kVector), second));
    } else {
      picked = hn::TableLookupBytes(hn::LoadU(d, source), places);
    }
    storeRows(d, picked, to + static_cast<size_t>(piece.to) * kBytes, rows);
  }
}

template <size_t kMost>
TablePickFunctions ofWords() {
  return {words<false, kMost>, words<true, kMost>, static_cast<int64_t>(hn::Lanes(hn::CappedTag<uint32_t, kMost>()))};
}

// Of vectors no longer than `extent` elements, where there are such.
TablePickFunctions of(int64_t bytes, int64_t extent) {
  switch (bytes) {
    case 1: return {narrow<1, false>, narrow<1, true>, 16};
    case 2: return {narrow<2, false>, narrow<2, true>, 8};
    case 4: return extent >= 16 ? ofWords<16>() : extent >= 8 ? ofWords<8>() : ofWords<4>();
    default: return {};
  }
}

#else

TablePickFunctions of(int64_t, int64_t) { return {}; }

#endif

}  // namespace table_picking

TablePickFunctions findTablePick(int64_t bytes, int64_t extent) { return table_picking::of(bytes, extent); }

}  // namespace tenon::backends::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon::backends::cpu {
namespace {

TENON_SIMD_TABLE(findTablePick);

// Where the vectors of a piece begin, or -1 where what it reads does not lie within `vectors` of them.
int64_t beginOf(const int64_t* table, int64_t lanes, int64_t extent, int64_t vectors) {
  const auto [least, most] = std::minmax_element(table, table + lanes);
  if (*most - *least >= vectors * lanes || extent < vectors * lanes) return -1;
  return std::min(*least, extent - vectors * lanes);
}

}  // namespace

bool TablePick::plan(const std::vector<int64_t>& table, int64_t extent, int64_t bytes) {
  clear();
  const auto count = static_cast<int64_t>(table.size());
  const auto functions = TENON_SIMD_BEST(findTablePick)(bytes, std::min(extent, count));
  const int64_t lanes = functions.lanes;
  if (lanes == 0 || count < lanes || extent > std::numeric_limits<int32_t>::max()) return false;
  for (int64_t vectors = 1; vectors <= 2; ++vectors) {
    pieces_.clear();
    const int64_t pieces = (count + lanes - 1) / lanes;
    lanes_.assign(static_cast<size_t>(pieces * (bytes == 4 ? lanes : 4)), 0);
    auto* const places = reinterpret_cast<uint8_t*>(lanes_.data());
    bool fits = true;
    for (int64_t p = 0; fits && p < pieces; ++p) {
      const int64_t to = std::min(p * lanes, count - lanes);  // the last one may share elements with the one before
      const int64_t from = beginOf(table.data() + to, lanes, extent, vectors);
      fits = from >= 0;
      pieces_.push_back({static_cast<int32_t>(to), static_cast<int32_t>(from)});
      for (int64_t i = 0; fits && i < lanes; ++i) {
        const int64_t lane = table[static_cast<size_t>(to + i)] - from;
        if (bytes == 4) lanes_[static_cast<size_t>(p * lanes + i)] = static_cast<uint32_t>(lane);
        for (int64_t b = 0; bytes != 4 && b < bytes; ++b)
          places[(p * lanes + i) * bytes + b] = static_cast<uint8_t>(lane * bytes + b);
      }
    }
    if (!fits) continue;
    run_ = vectors == 1 ? functions.one : functions.two;
    return true;
  }
  return false;
}

}  // namespace tenon::backends::cpu
#endif
