// A quantized convolution in numbers: how its weights are packed, and where its image lies with padding.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/simd/byte_channels_simd.h"
#include "backends/cpu/kernels/simd/byte_product_simd.h"
#include "core/dims.h"
#include "core/error.h"
#include "ops/op/byte_convolution.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// Of the weights [K,C/groups,kernel...] alone.
struct ByteWeights {
  ByteWeights() = default;
  ByteWeights(const ops::ByteConvolution& op, const Dims& w, bool isSigned);

  int64_t columns() const { return outputs / groups; }  // of a group
  int64_t groupPanels() const { return bytePanels(columns()); }
  int64_t panelBytes() const { return tapCount * byteQuads(depth) * kByteQuad * kBytePanel + kBytePanel * 4; }
  int64_t chunkBytes() const { return byteQuads(tapCount) * kByteQuad * byteChannels().channels; }  // single channels
  // The channel at a place of a chunk of single ones; -1: none. Few channels are repeated, for pixels side by side.
  int64_t channelAt(int64_t chunk, int64_t place) const;
  int64_t sumsAt() const;  // bytes before the sums of all columns, i32 each
  int64_t bytes() const { return sumsAt() + outputs * 4; }
  std::string recipe() const;
  void pack(const void* from, void* to) const;

  int64_t outputs = 0, channels = 0, groups = 1;  // channels of a group
  std::array<int64_t, 3> kernel{1, 1, 1};
  bool isSigned = true;   // else each byte loses 128
  bool isJoined = false;  // a row of the window is one tap
  bool isDepthwise = false;
  int64_t tapCount = 1, depth = 0;  // bytes of a tap
  int64_t repeats = 1;              // of single channels

 private:
  int64_t weight(const void* from, int64_t output, int64_t tap, int64_t at) const;
  void packPanels(const void* from, int8_t* to) const;
  void packChannels(const void* from, int8_t* to) const;
};

// to[j * toStep + i] = from[i * fromStep + j] for i < inner, j < second, of bytes: whole vectors, the last ones of
// either axis over some that are there already.
void turnBytes(const void* from, int64_t fromStep, void* to, int64_t toStep, int64_t inner, int64_t second);

// Of an execution. The image is read as unsigned bytes, channels-last, with its padding.
struct ByteImage {
  ByteImage() = default;
  ByteImage(const ops::ByteConvolution& op, const ByteWeights& weights, const runtime::Shapes& shapes);

  int64_t outPlane() const { return out[0] * out[1] * out[2]; }
  int64_t copyBytes() const;
  // Copies the image with padding of `zero`.
  void copy(const void* from, uint8_t zero, uint8_t* to) const;
  // The addresses of the windows of pixels of the result.
  void windows(const uint8_t* image, int64_t first, int64_t count, const uint8_t** to) const;

  int64_t batch = 0, channels = 0, groups = 1;
  std::array<int64_t, 3> extent{1, 1, 1}, out{1, 1, 1}, stride{1, 1, 1}, before{0, 0, 0}, padded{1, 1, 1};
  bool isSigned = false, isLast = false;  // of the tensor
  bool isDirect = false;                  // read as it lies
  int64_t groupStep = 0, pixelStep = 0;   // bytes
  std::vector<int64_t> taps;              // offsets, those of one group behind those of another

 private:
  void joinRows();
  void copyRow(const uint8_t* from, uint8_t zero, uint8_t* to, int64_t image, int64_t z, int64_t y) const;

  bool isLine_ = false;  // windows follow each other as pixels do
};

}  // namespace tenon::backends::cpu
