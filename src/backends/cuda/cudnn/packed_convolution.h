// Strided convolutions of few input channels as unstrided convolutions after space-to-depth: stride x stride pixels
// become the channels of one, so that tensor cores find whole packs of channels.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "backends/cuda/driver/compiler.h"
#include "ops/op/convolution.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

constexpr int64_t kChannelPack = 8;  // halves that engines read at once

struct PackedConvolution {
  ops::Convolution op;                      // over blocks, without padding: the blocks hold it
  Dims x, w;                                // of blocks: [N,C',H',W'], [K,C',R',S']
  std::array<int64_t, 2> block{}, zeros{};  // places of a block; zeros before the image
  std::array<int64_t, 2> shift{};           // zeros before the weights
  std::string refusal;                      // why there is none, or empty

  // Inputs and output of the convolution; formats do not count.
  PackedConvolution(const ops::Convolution& from, const runtime::Shapes& shapes);
  HostTensor weights(const TensorView& w) const;
};

// The kernel that makes images of blocks.
Code packImageCode(int64_t channels, int64_t blockHeight, int64_t blockWidth);

class ImagePacker {
 public:
  explicit ImagePacker(const Module& module) : function_(module.function("tenon_pack_image")) {}
  void configure(const PackedConvolution& packed, const runtime::TensorShape& x);  // the image of halves, in its format
  size_t bytes() const { return static_cast<size_t>(parameters_.count) * kChannelPack * 2; }
  void launch(const void* x, void* to, void* stream);  // `to` is aligned to 16 bytes

 private:
  struct Parameters {  // mirrors pack_image.cu
    const void* x = nullptr;
    void* to = nullptr;
    int64_t image = 0, channel = 0, row = 0, column = 0;
    int32_t height = 0, width = 0;
    int32_t top = 0, left = 0;
    int32_t rows = 0, columns = 0;
    int64_t count = 0;
  };
  CUfunction function_;
  Parameters parameters_;
};

}  // namespace tenon::backends::cuda
