// Copies of elements that stand apart, of 1, 2, 4 or 8 bytes each.
#pragma once

#include <cstdint>

namespace tenon::backends::cpu {

// `count` elements that are `stride` apart (0: one, repeated), next to each other.
void gatherStrided(int64_t bytes, const char* from, int64_t stride, int64_t count, char* to);
// `rows` rows of `count` elements behind each other, which are `step` apart; the elements of one `stride`.
void gatherRows(int64_t bytes, const char* from, int64_t step, int64_t stride, int64_t rows, int64_t count, char* to);
// The other way: neighbours to elements that are `stride` apart.
void scatterStrided(int64_t bytes, const char* from, char* to, int64_t stride, int64_t count);

}  // namespace tenon::backends::cpu
