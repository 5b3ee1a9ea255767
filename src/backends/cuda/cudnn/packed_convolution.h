// Strided convolutions of few input channels as unstrided convolutions after space-to-depth: stride x stride pixels
// become the channels of one, so that tensor cores find whole packs of channels.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "backends/cuda/cudnn/pack_image_parameters.h"
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
  CUfunction function_;
  PackImageParameters parameters_;
};

}  // namespace tenon::backends::cuda
