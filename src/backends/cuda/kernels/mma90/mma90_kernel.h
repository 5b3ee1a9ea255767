// Kernels of products by warpgroups, as matmuls and convolutions share them.
#pragma once

#include <optional>
#include <vector>

#include "backends/cuda/kernels/common/device_table.h"
#include "backends/cuda/kernels/mma90/mma90.h"
#include "runtime/packer.h"

namespace tenon::backends::cuda {

// An image of channels-last halves, and its windows; or a volume.
struct Mma90Image {
  int64_t images = 0, height = 0, width = 0;
  // Along H, W and D:
  int64_t windows[3] = {1, 1, 1};  // of the result
  int64_t taps[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, before[3] = {}, after[3] = {}, dilation[3] = {1, 1, 1};
  int64_t depth = 1;
  bool isDeep = false;  // a volume

  int64_t allTaps() const { return taps[0] * taps[1] * taps[2]; }
  int64_t allWindows() const { return images * windows[0] * windows[1] * windows[2]; }
  // Where one axis or two are left alone, a volume's planes are images, or pixels of an image.
  void flatten();

  // Why the copy engine cannot read them, or empty.
  std::string refusal() const;
};

// Where taps are left out, the tiles that so many blocks take one after another: all that stand first, then all that
// stand second, and so on; none behind a block's last. Those with most steps first, each to the block that has least.
std::vector<Mma90Turn> mma90Turns(const Mma90Image& image, const Mma90Weights& weights, const Mma90Shape& shape,
                                  int64_t blocks);
// Whether that saves so much of the steps that it may pay.
bool mma90MayOmit(const Mma90Image& image, const Mma90Weights& weights, const Mma90Shape& shape);

class Mma90Launcher {
 public:
  // `apart`: what normalizes rows of x in front of a product of many tiles, or measures those of y behind it.
  Mma90Launcher(const Mma90Record& record, CUfunction function, CUfunction apart = nullptr)
      : record_(record), function_(function), apart_(apart) {}
  // Shapes of the product; where rows are windows, those of `image`.
  void configure(const runtime::Shapes& shapes, const std::optional<Mma90Image>& image);
  void launch(const runtime::LaunchArguments& arguments);
  // Before the launch: where the moments of the rows are, the packed weights, and where the normalized rows go, null
  // where nobody wants them; where the moments of the result go.
  void normalize(const void* moments, const void* weights, void* kept);
  void measure(void* moments);
  // Launches of their own: of rows that normalize() told of, into the workspace, which is returned; of the result that
  // launch() computes, behind it.
  void* normalizeApart(const runtime::LaunchArguments& arguments);
  void measureApart(const runtime::LaunchArguments& arguments);
  // Before the launch: of the normalization of the result's rows, by column; where what it reads goes, or null.
  void endRows(const void* scale, const void* shift, void* kept);
  // Behind configure(), of a product that is added: its rows of so many elements; before the launch: where they are.
  void configureMore(const std::optional<Mma90Image>& image, int64_t inner);
  void addMore(const void* x) { moreX_ = x; }
  // Of a deconvolution, behind configure(): where its pixels lie.
  void spread(const Mma90Subpixels& subpixels) { parameters_.subpixels = subpixels; }

 private:
  size_t elementsAtOnce() const { return static_cast<size_t>(record_.weights.columnsAtOnce()); }
  void launchApart(void* stream);
  void mapRows(TileMap& map, const void* x, const std::optional<Mma90Image>& image, const Mma90Weights& weights) const;
  void mapPieces(TileMap& map, const void* y, DataType type) const;  // of what is like y

  const Mma90Record& record_;
  CUfunction function_, apart_;
  unsigned tilesOfColumns_ = 0, tilesOfRows_ = 0;
  std::vector<size_t> alignment_;  // of the result and the epilogue's inputs
  std::optional<Mma90Image> image_;
  const void* mapped_ = nullptr;  // what the map is of
  std::optional<Mma90Image> moreImage_;
  const void* moreX_ = nullptr;
  const void* mappedMore_ = nullptr;
  const void* mappedY_ = nullptr;
  const void* mappedSum_ = nullptr;
  const void* kept_ = nullptr;  // what was normalized goes there
  DeviceTable turns_;
  Mma90Parameters parameters_;
};

// Loads the code and packs the weights: operand 1, or of normalized rows operand 4 with what is in 2 and 3.
class Mma90Kernel : public runtime::Kernel, public runtime::Packer {
 public:
  Mma90Kernel(Mma90Record record, const runtime::KernelLoad& load);
  std::vector<runtime::PackedForm> packedForms(Layout output) const override;
  void pack(const runtime::PackedForm& form, std::span<const void* const> sources, void* to) const override;

 private:
  void packBoth(std::span<const void* const> sources, void* to) const;

 protected:
  const Mma90Record record_;
  Module module_;
  CUfunction function_ = nullptr;
};

}  // namespace tenon::backends::cuda
