// Weighted sums of values at places of maps, a thread per element of the result. X: type of the values; I, J: types of
// the shapes and the starts.
#include "backends/cuda/kernels/sampling/sampling_parameters.h"
#include "prelude.cuh"

KERNEL(tenon_deformable_attention, DeformableAttentionParameters) {
  const i64 at = globalIndex();
  if (at >= p.count) return;
  const i64 column = at % p.width;
  const i64 row = at / p.width;  // image, query, head
  const i64 head = row % p.heads;
  const i64 image = row / p.heads / p.queries;
  float sum = 0.f;
  for (i64 map = 0; map < p.maps; ++map) {
    const i64 height = (i64)load<I>(p.shapes, map * 2);
    const i64 width = (i64)load<I>(p.shapes, map * 2 + 1);
    const i64 start = (i64)load<J>(p.starts, map);
    const i64 most = (i64)1 << 31;
    if (height > most || width > most || start > most || start < -most) continue;
    for (i64 point = 0; point < p.points; ++point) {
      const i64 place = (row * p.maps + map) * p.points + point;
      const float x = load<X>(p.places, place * 2) * (float)width - 0.5f;
      const float y = load<X>(p.places, place * 2 + 1) * (float)height - 0.5f;
      if (!(y > -1.f && y < (float)height && x > -1.f && x < (float)width)) continue;
      const float top = floorf(y);
      const float left = floorf(x);
      const float weight = load<X>(p.weights, place);
      for (int corner = 0; corner < 4; ++corner) {
        const i64 i = (i64)top + corner / 2;
        const i64 j = (i64)left + corner % 2;
        const i64 from = start + i * width + j;
        if (i < 0 || i >= height || j < 0 || j >= width || from < 0 || from >= p.values) continue;
        const float vertical = corner / 2 == 0 ? 1.f - (y - top) : y - top;
        const float horizontal = corner % 2 == 0 ? 1.f - (x - left) : x - left;
        sum += load<X>(p.value, ((image * p.values + from) * p.heads + head) * p.width + column) * vertical *
               horizontal * weight;
      }
    }
  }
  store<X>(p.y, at, sum);
}
