// Columns of moved pixels, a thread per place, tap and group; it does the channels of the group. X: element type.
#include "backends/cuda/kernels/sampling/sampling_parameters.h"
#include "prelude.cuh"

KERNEL(tenon_deformable_columns, DeformableColumnsParameters) {
  const i64 at = globalIndex();
  const i64 places = p.outRows * p.outColumns;
  const i64 taps = p.kernelRows * p.kernelColumns;
  const i64 each = p.channels / p.groups;
  if (at >= p.count) return;
  const i64 place = at % places;
  const i64 job = at / places;  // image, group, tap
  const i64 tap = job % taps;
  const i64 group = job / taps % p.groups;
  const i64 image = job / taps / p.groups;
  const float row =
      (float)(place / p.outColumns * p.strides[0] - p.padding[0] + tap / p.kernelColumns * p.dilations[0]) +
      load<X>(p.offsets, job * 2 * places + place);
  const float column =
      (float)(place % p.outColumns * p.strides[1] - p.padding[1] + tap % p.kernelColumns * p.dilations[1]) +
      load<X>(p.offsets, (job * 2 + 1) * places + place);
  const float factor = p.mask != 0 ? load<X>(p.mask, job * places + place) : 1.f;
  const bool near = row > -1.f && row < (float)p.rows && column > -1.f && column < (float)p.columns;
  const float top = near ? floorf(row) : 0.f;
  const float left = near ? floorf(column) : 0.f;
  i64 from[4];
  float weights[4];
  for (int i = 0; i < 4; ++i) {
    const i64 y = (i64)top + i / 2;
    const i64 x = (i64)left + i % 2;
    const bool inside = near && y >= 0 && y < p.rows && x >= 0 && x < p.columns;
    from[i] = inside ? y * p.columns + x : 0;
    const float vertical = i / 2 == 0 ? 1.f - (row - top) : row - top;
    const float horizontal = i % 2 == 0 ? 1.f - (column - left) : column - left;
    weights[i] = inside ? vertical * horizontal * factor : 0.f;
  }
  for (i64 c = 0; c < each; ++c) {
    const i64 channel = image * p.channels + group * each + c;
    float sum = 0.f;
    for (int i = 0; i < 4; ++i) sum += load<X>(p.x, channel * p.rows * p.columns + from[i]) * weights[i];
    store<X>(p.y, (channel * taps + tap) * places + place, sum);
  }
}
