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

// Calls picked(source) for each run, a vector of elements that goes to its place `to` in each row of the run.
template <typename D, typename T, typename Picked>
HWY_INLINE void eachRow(D d, const PickedRows& rows, int64_t step, const void* from, T* to, Picked picked) {
  for (int64_t k = 0; k < rows.runCount; ++k) {
    const auto& run = rows.runs[k];
    const auto value = picked(reinterpret_cast<const T*>(static_cast<const char*>(from) + run.from));
    const int64_t end = std::min(rows.end, run.end);
    for (int64_t row = std::max(rows.begin, run.begin); row < end; ++row)
      hn::StoreU(value, d, to + (row - rows.begin) * step);
  }
}

template <bool kTwo>
void words(const TablePick& pick, const void* vfrom, void* vto, const PickedRows& rows) {
  const hn::ScalableTag<uint32_t> d;
  const size_t lanes = hn::Lanes(d);
  auto* const to = static_cast<uint32_t*>(vto);
  const auto* index = static_cast<const uint32_t*>(pick.lanes());
  const auto most = hn::Set(d, static_cast<uint32_t>(lanes - 1));
  for (const auto& piece : pick.pieces()) {
    const auto places = hn::LoadU(d, index);
    index += lanes;
    const auto isSecond = hn::Gt(places, most);
    const auto within = hn::IndicesFromVec(d, hn::And(places, most));
    eachRow(d, rows, rows.step, vfrom, to + piece.to, [&](const uint32_t* row) HWY_ATTR {
      const auto first = hn::TableLookupLanes(hn::LoadU(d, row + piece.from), within);
      if constexpr (!kTwo) return first;
      return hn::IfThenElse(isSecond, hn::TableLookupLanes(hn::LoadU(d, row + piece.from + lanes), within), first);
    });
  }
}

// `kBytes` of an element; the table has one entry for each byte.
template <size_t kBytes, bool kTwo>
void narrow(const TablePick& pick, const void* vfrom, void* vto, const PickedRows& rows) {
  constexpr size_t kVector = 16;
  const hn::FixedTag<int8_t, kVector> d;
  auto* const to = static_cast<int8_t*>(vto);
  const auto* index = static_cast<const int8_t*>(pick.lanes());
  const auto half = hn::Set(d, static_cast<int8_t>(kVector));
  const auto outside = hn::Set(d, std::numeric_limits<int8_t>::min());  // for which 0 is picked
  for (const auto& piece : pick.pieces()) {
    const auto places = hn::LoadU(d, index);
    index += kVector;
    const auto isFirst = hn::VecFromMask(d, hn::Lt(places, half));
    const auto first = hn::Or(places, hn::AndNot(isFirst, outside));
    const auto second = hn::Or(hn::Sub(places, half), hn::And(isFirst, outside));
    eachRow(d, rows, rows.step * static_cast<int64_t>(kBytes), vfrom, to + static_cast<size_t>(piece.to) * kBytes,
            [&](const int8_t* row) HWY_ATTR {
              const int8_t* const source = row + static_cast<size_t>(piece.from) * kBytes;
              if constexpr (!kTwo) return hn::TableLookupBytes(hn::LoadU(d, source), places);
              return hn::Or(hn::TableLookupBytesOr0(hn::LoadU(d, source), first),
                            hn::TableLookupBytesOr0(hn::LoadU(d, source + kVector), second));
            });
  }
}

TablePickFunctions of(int64_t bytes) {
  switch (bytes) {
    case 1: return {narrow<1, false>, narrow<1, true>, 16};
    case 2: return {narrow<2, false>, narrow<2, true>, 8};
    case 4: return {words<false>, words<true>, static_cast<int64_t>(hn::Lanes(hn::ScalableTag<uint32_t>()))};
    default: return {};
  }
}

#else

TablePickFunctions of(int64_t) { return {}; }

#endif

}  // namespace table_picking

TablePickFunctions findTablePick(int64_t bytes) { return table_picking::of(bytes); }

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
  const auto functions = TENON_SIMD_BEST(findTablePick)(bytes);
  const int64_t lanes = functions.lanes;
  const auto count = static_cast<int64_t>(table.size());
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
