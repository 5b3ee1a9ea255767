// Space-to-depth of images of few channels: a pixel holds the CHANNELS x BLOCK_H x BLOCK_W values of its block in
// packs of eight halves, zeros beyond the image and behind the last value.
#include "backends/cuda/cudnn/pack_image_parameters.h"
#include "prelude.cuh"

constexpr int kValues = CHANNELS * BLOCK_H * BLOCK_W;
constexpr int kPacks = (kValues + 7) / 8;

struct alignas(16) Halves {
  unsigned short value[8];
};

KERNEL(tenon_pack_image, PackImageParameters) {
  const i64 index = globalIndex();
  if (index >= p.count) return;
  const i64 place = index / kPacks;
  const int pack = (int)(index - place * kPacks);
  const i64 line = place / p.columns;
  const int j = (int)(place - line * p.columns);
  const i64 n = line / p.rows;
  const int i = (int)(line - n * p.rows);
  const unsigned short* x = (const unsigned short*)p.x + n * p.image;
  Halves result;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const int value = pack * 8 + k;
    const int c = value / (BLOCK_H * BLOCK_W);
    const int h = i * BLOCK_H + value / BLOCK_W % BLOCK_H - p.top;
    const int w = j * BLOCK_W + value % BLOCK_W - p.left;
    const bool inside = value < kValues && h >= 0 && h < p.height && w >= 0 && w < p.width;
    result.value[k] = inside ? x[c * p.channel + h * p.row + w * p.column] : 0;
  }
  ((Halves*)p.to)[index] = result;
}
