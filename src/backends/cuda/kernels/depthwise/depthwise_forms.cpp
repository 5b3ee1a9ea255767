// The shapes of blocks for depthwise convolutions that work down the rows.
#include "backends/cuda/kernels/depthwise/depthwise_forms.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostThreads = 256;
constexpr int64_t kMostSharedBytes = 96 << 10;  // of a block, as depthwise_rows.cuh says
constexpr int64_t kCopyBytes = 16;
constexpr double kMostCost = 2;        // times the least: more is not worth a trial
constexpr int64_t kRegisters = 65536;  // of a multiprocessor

// Of depthwise_strips.cuh: strips of a warp and results of one; channels of a warp; rows of x and of results that are
// held, and the space between two pixels of the latter.
constexpr int64_t kWarpStrips = 16;
constexpr int64_t kStripResults = 8;
constexpr int64_t kWarpChannels = 4;
constexpr int64_t kStripRows = 4;
constexpr int64_t kResultRows = 2;
constexpr int64_t kPixelGap = 16;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Rows of x in shared memory.
int64_t rowsHeld(const DepthwiseForm& form) { return form.stride == 1 ? 4 : 6; }
int64_t pixelsOf(const DepthwiseForm& form, int64_t strips) {
  return (strips * form.places - 1) * form.stride + form.kernel;
}

// Pixels of a row of x that a block of strips holds: eight more of each line.
int64_t stripPixels(const DepthwiseTile& tile) { return kWarpStrips / tile.strips * (tile.strips + 1) * kStripResults; }

// Cycles, fitted to measurements of an H200: an order in which tiles are measured. What holds a step up is arithmetic,
// requests (one for the channels of a pixel, or for a line of memory), bytes, or that the next step needs it.
double estimate(const DepthwiseForm& form, const DepthwiseTile& tile, int64_t images, int64_t channels,
                const ElementBytes& bytes) {
  constexpr double kLineBytes = 128;
  const int64_t elementBytes = bytes.operand;
  const int64_t taps = int64_t{form.kernel} * form.kernel;
  const int64_t threads = form.threads(tile);
  const int64_t sharedBytes = form.sharedBytes(tile, bytes) + 1024;
  const int64_t fitting = std::clamp<int64_t>(
      std::min(kRegisters / (threads * form.registers), sharedBytesOfMultiprocessor() / sharedBytes), 1, 32);
  const int64_t blocks = form.blocks(tile, images);
  const auto resident = static_cast<double>(std::clamp<int64_t>(ceilDiv(blocks, multiprocessors()), 1, fitting));
  double waves = static_cast<double>(blocks) / (static_cast<double>(multiprocessors()) * resident);
  waves = waves > 1 ? waves + 0.4 : 1;
  const double steps = tile.rows + static_cast<double>(ceilDiv(form.kernel, form.stride)) - 1;
  if (form.byStrips()) {  // products, loads of their operands, bytes, or the way through one step
    const double warps = resident * static_cast<double>(threads) / 32;
    const double products = warps * static_cast<double>(form.kernel * kWarpChannels) * 1.5;
    const double memory = resident * static_cast<double>(stripPixels(tile) + kWarpStrips * kStripResults) *
                          static_cast<double>(tile.channels * elementBytes) / 16.5;
    return 7000 + waves * (steps * std::max({products, warps * 64, memory, 400.0}) + 1500);
  }
  const int64_t results = int64_t{tile.strips} * form.places;
  const auto pixels = static_cast<double>(form.stride * pixelsOf(form, tile.strips) + results);
  const auto pixelBytes = static_cast<double>(tile.channels * elementBytes);

  const double instructions = 2.1 * static_cast<double>(taps * form.places * form.width) + 50 + 9.7 * form.places;
  const double issue = resident * static_cast<double>(threads) / 128 * 1.28 * instructions;
  const double requests = 9.1 * resident * pixels * (tile.channels == channels ? pixelBytes / kLineBytes : 1.0);
  const double memory = resident * pixels * pixelBytes / 16.5;
  const double step = std::max({issue, requests, memory, 250 + 1.7 * instructions});

  return 2000 + waves * (steps * step + 630 + 50 * static_cast<double>(taps));
}

DepthwiseTile tileOf(const WindowParameters& p, const DepthwiseForm& form, int64_t channels, int64_t strips,
                     int64_t rows) {
  DepthwiseTile tile;
  tile.channels = int32Of(channels);
  tile.strips = int32Of(strips);
  tile.rows = int32Of(rows);
  tile.channelTiles = int32Of(ceilDiv(p.channels, channels));
  tile.columnTiles = int32Of(ceilDiv(ceilDiv(p.window[2].small, form.places), strips));
  tile.heights = int32Of(ceilDiv(p.window[1].small, rows));
  return tile;
}

bool fits(const DepthwiseForm& form, const DepthwiseTile& tile, const ElementBytes& bytes) {
  const bool whole = !form.byStrips() || (tile.strips <= kWarpStrips && (tile.channels == 16 || tile.channels == 32));
  return whole && form.threads(tile) <= kMostThreads && form.sharedBytes(tile, bytes) <= kMostSharedBytes;
}

// Whether measuring one says what the other would.
bool isLike(const DepthwiseChoice& a, const DepthwiseChoice& b) {
  const auto close = [](int64_t x, int64_t y) { return 2 * std::max(x, y) < 3 * std::min(x, y); };
  return a.form.variant() == b.form.variant() && close(a.tile.channels, b.tile.channels) &&
         close(a.tile.strips, b.tile.strips) && close(a.tile.rows, b.tile.rows);
}

}  // namespace

bool DepthwiseForm::byStrips() const { return places == kStripResults; }

int64_t DepthwiseForm::threads(const DepthwiseTile& tile) const {
  if (byStrips()) return tile.channels / kWarpChannels * 32;
  return ceilDiv(int64_t{tile.channels} / width * tile.strips, 32) * 32;
}

int64_t DepthwiseForm::sharedBytes(const DepthwiseTile& tile, const ElementBytes& bytes) const {
  if (byStrips())
    return kStripRows * stripPixels(tile) * tile.channels * bytes.operand +
           kResultRows * kWarpStrips * kStripResults * (tile.channels * bytes.result + kPixelGap);
  return rowsHeld(*this) * pixelsOf(*this, tile.strips) * tile.channels * bytes.operand;
}

int64_t DepthwiseForm::blocks(const DepthwiseTile& tile, int64_t images) const {
  if (!byStrips()) return images * blocksOfImage(tile);
  return ceilDiv(images * tile.heights, kWarpStrips / tile.strips) * tile.channelTiles * tile.columnTiles;
}

// Few places keep small launches busy and waste little at the right edge; many spare work where sums are long. Sums of
// halves that are longer still take longer than their bytes need unless tensor cores compute them.
std::vector<DepthwiseForm> depthwiseForms(int kernel, int stride, int64_t elementBytes) {
  if (stride != 1 && stride != 2) return {};
  std::vector<DepthwiseForm> result;
  if (kernel == 3) result = {{3, stride, 2, 4, 96}};
  if (kernel == 5) result = {{5, stride, 2, 2, 116}, {5, stride, 7, 2, 168}};
  if (kernel == 7) result = {{7, stride, 2, 2, 168}};
  if (stride == 1 && elementBytes == 2 && kernel == 7) result.push_back({kernel, 1, kStripResults, kWarpChannels, 252});
  return result;
}

std::string DepthwiseChoice::text() const {
  return fmt::format("{}x{}:{},{},{}", form.places, form.width, tile.channels, tile.strips, tile.rows);
}

bool worksDownRows(const WindowParameters& p) {
  const auto& rows = p.window[1];
  const auto& columns = p.window[2];
  return rows.kernel == columns.kernel && rows.stride == columns.stride && rows.dilation == 1 &&
         columns.dilation == 1 && rows.before < rows.kernel &&
         int64_t{rows.small - 1} * rows.stride - rows.before < rows.large;
}

std::vector<DepthwiseChoice> depthwiseChoices(const WindowParameters& p, int64_t images, const ElementBytes& bytes,
                                              size_t most) {
  std::vector<DepthwiseChoice> all;
  const int64_t channels = p.channels;
  const int64_t height = p.window[1].small;
  for (const auto& form : depthwiseForms(p.window[1].kernel, p.window[1].stride, bytes.operand)) {
    const int64_t unit = form.byStrips() ? 16 : kCopyBytes / bytes.operand;
    const int64_t strips = ceilDiv(p.window[2].small, form.places);
    for (int64_t across = 1;; across = std::min(2 * across, strips)) {
      for (int64_t width = unit; width < channels + unit; width += unit) {
        auto tile = tileOf(p, form, width, ceilDiv(strips, across), height);
        if (!fits(form, tile, bytes)) break;
        for (int64_t down = 1; down <= height; down += 1 + down / 8) {
          tile = tileOf(p, form, width, ceilDiv(strips, across), ceilDiv(height, down));
          all.push_back({form, tile, estimate(form, tile, images, channels, bytes)});
        }
      }
      if (across == strips) break;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const DepthwiseChoice& a, const DepthwiseChoice& b) { return a.cost < b.cost; });
  std::vector<DepthwiseChoice> result;
  for (const auto& one : all) {
    if (result.size() == most || one.cost > kMostCost * all[0].cost) break;
    if (std::none_of(result.begin(), result.end(), [&](const DepthwiseChoice& other) { return isLike(one, other); }))
      result.push_back(one);
  }
  return result;
}

DepthwiseChoice parseDepthwise(std::string_view text, const WindowParameters& p, const ElementBytes& bytes) {
  TextReader in(text, "a tile of a depthwise convolution");
  const auto number = [&](const char* behind) {
    const int64_t value = in.integer();
    if (value < 1 || value > (1 << 20)) in.fail("the number is out of range for a tile");
    if (behind != nullptr) in.expect(behind);
    return value;
  };
  const int64_t places = number("x");
  const int64_t width = number(":");
  DepthwiseChoice choice;
  const int64_t channels = number(",");
  const int64_t strips = number(",");
  const int64_t rows = number(nullptr);
  for (const auto& form : depthwiseForms(p.window[1].kernel, p.window[1].stride, bytes.operand)) {
    if (form.places == places && form.width == width) choice.form = form;
  }
  if (choice.form.kernel == 0 || !in.atEnd()) in.fail("no variant of the kernel has these parameters for this window");
  choice.tile = tileOf(p, choice.form, channels, strips, rows);
  if (channels % (kCopyBytes / bytes.operand) != 0 || !fits(choice.form, choice.tile, bytes))
    in.fail("the tile exceeds what a block can hold");
  return choice;
}

}  // namespace tenon::backends::cuda
