// The maps of x, packed weights, launches.
#include "backends/cuda/kernels/mma90/mma90_kernel.h"

#include <cstring>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/common/space.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;
constexpr size_t kMomentBytes = 8;

cuuint32_t narrow(int64_t v) { return static_cast<cuuint32_t>(v); }
int32_t narrowed(int64_t v) { return static_cast<int32_t>(v); }

CUtensorMapDataType mappedType(DataType type, bool isExact = false) {
  if (type == DataType::kF32 && isExact) return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  if (type == DataType::kF32) return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;  // rounded on the way
  return type == DataType::kF16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

Mma90Window windowOf(const Mma90Image& image, const Mma90Weights& weights) {
  Mma90Window window;
  window.chunks = static_cast<int32_t>(weights.chunks());
  window.width = static_cast<int32_t>(image.taps[1]);
  for (int i = 0; i < 2; ++i) {
    window.stride[i] = static_cast<int32_t>(image.stride[i]);
    window.before[i] = static_cast<int32_t>(image.before[i]);
    window.dilation[i] = static_cast<int32_t>(image.dilation[i]);
  }
  window.row = dividerBy(image.windows[1]);
  window.image = dividerBy(image.windows[0] * image.windows[1]);
  return window;
}

Mma90Depth depthOf(const Mma90Image& image) {
  return {narrowed(image.taps[0] * image.taps[1]), narrowed(image.stride[2]), narrowed(image.before[2]),
          narrowed(image.dilation[2]), dividerBy(image.windows[2])};
}

}  // namespace

std::string mma90Missing() {
  if (!hasWarpgroupProducts()) return "the chip has no products of warpgroups (wgmma)";
  // Without a driver the code is looked at all the same.
  const auto& d = driver();
  const bool lacks =
      d.launchKernelEx == nullptr || d.tensorMapEncodeTiled == nullptr || d.tensorMapEncodeIm2col == nullptr;
  return d.missing.empty() && lacks ? "the driver launches no clusters or encodes no tensor maps" : "";
}

std::string Mma90Image::refusal() const {
  const int64_t kMostStride = 8, kMostOffset = isDeep ? 31 : 255, kMostCorner = isDeep ? 15 : 127;
  for (int i = 0; i < (isDeep ? 3 : 2); ++i) {
    const int64_t reach = (taps[i] - 1) * dilation[i];
    if (stride[i] > kMostStride) return fmt::format("strides of {}; at most {} are supported", stride[i], kMostStride);
    if (reach > kMostOffset) return fmt::format("windows over {} places", reach + 1);
    if (std::max(std::abs(before[i]), std::abs(after[i] - reach)) > kMostCorner)
      return fmt::format("padding of {} and {}", before[i], after[i]);
  }
  return {};
}

void Mma90Launcher::configure(const runtime::Shapes& shapes, const std::optional<Mma90Image>& image) {
  const auto& y = shapes.outputs[0];
  auto& p = parameters_;
  p.rows = 0;
  if (y.dims.count() == 0) return;
  auto refusal = mma90Refusal(record_.op, shapes);
  if (refusal.empty() && image) refusal = image->refusal();
  if (!refusal.empty()) throw Unsupported("a product by warpgroups: {}", refusal);
  const auto& w = record_.weights;
  const int64_t rows = y.dims.count(0, y.dims.rank - 1);
  const int64_t inner = shapes.inputs[0].dims[shapes.inputs[0].dims.rank - 1];
  checkUser(y.dims[y.dims.rank - 1] == w.columns && inner == w.inner * w.groups,
            "a product by warpgroups: made for {} columns and an inner extent of {}, got a result of {} and {}",
            w.columns, w.inner * w.groups, y.dims.text(), inner);
  const bool fits =
      image ? w.taps == image->allTaps() && w.isDeep == image->isDeep && rows == image->allWindows() : w.taps == 0;
  checkUser(fits, "a product by warpgroups: made for {} taps, which are not those of the windows", w.taps);
  const auto kinds = mma90Kinds(shapes);
  // With one row, operands by column and as a whole are the same.
  for (size_t k = 0; k < kinds.size(); ++k) {
    if (kinds[k] == record_.kinds[k] || (rows == 1 && kinds[k] == 'c' && record_.kinds[k] == 'w')) continue;
    throw Unsupported("a product by warpgroups: an epilogue operand of {}, which the kernel was not compiled for",
                      shapes.inputs[k + 2].dims.text());
  }
  const auto& shape = record_.shape;
  p.rows = static_cast<int32_t>(rows);
  p.columns = static_cast<int32_t>(w.columns);
  p.steps = static_cast<int32_t>(w.steps());
  p.stages = static_cast<int32_t>(shape.stages);
  p.ringBytes = static_cast<int32_t>(shape.ringBytes());
  if (shape.isPersistent()) {
    p.order = shape.order(rows, w.tiles());
    tilesOfColumns_ = static_cast<unsigned>(std::min<int64_t>(p.order.tiles, multiprocessors() / shape.parts));
    tilesOfRows_ = 1;
  } else {
    const int64_t tilesOfRows = (rows + shape.rows - 1) / shape.rows;
    checkUser(tilesOfRows <= kMma90MostTiles, "a product by warpgroups: {} rows in tiles of {} exceed the grid", rows,
              shape.rows);
    const int64_t across = shape.columnGroups * (shape.hasWholeRows() ? shape.parts : 1);
    tilesOfColumns_ = static_cast<unsigned>((w.tiles() + across - 1) / across);
    tilesOfRows_ = static_cast<unsigned>(tilesOfRows);
  }
  alignment_.assign(1, elementsAtOnce() * static_cast<size_t>(bits(y.dtype) / 8));
  for (size_t k = 0; k < kinds.size(); ++k) {
    const auto bytes = static_cast<size_t>(bits(shapes.inputs[k + 2].dtype) / 8);
    alignment_.push_back(record_.kinds[k] == 's' ? bytes : elementsAtOnce() * bytes);
  }
  image_ = image;
  mapped_ = nullptr;
  mappedY_ = mappedSum_ = mappedMore_ = nullptr;
  if (!image) return;
  auto& window = p.window;
  window = windowOf(*image, w);
  window.tiles = dividerBy(w.groups == 1 ? tilesOfColumns_ : w.partTiles());
  window.columns = static_cast<int32_t>(w.partColumns());
  window.channels = static_cast<int32_t>(w.partInner());
  if (image->isDeep) p.depth = depthOf(*image);
  if (!shape.omits) return;
  const auto turns = mma90Turns(*image, w, shape, tilesOfColumns_);
  turns_.write(turns.data(), turns.size() * sizeof(turns[0]));
  p.turns = static_cast<const Mma90Turn*>(turns_.data());
  p.order.tiles = static_cast<int32_t>(turns.size());
}

void Mma90Launcher::configureMore(const std::optional<Mma90Image>& image, int64_t inner) {
  auto& p = parameters_;
  if (p.rows == 0) return;
  if (image && !image->refusal().empty()) throw Unsupported("a product by warpgroups: {}", image->refusal());
  const auto& w = *record_.more;
  const bool fits =
      inner == w.inner &&
      (image ? w.taps == image->allTaps() && p.rows == image->allWindows() && !image->isDeep : w.taps == 0);
  checkUser(fits,
            "a sum of products by warpgroups: made for {} elements of {} taps, which are not those of the windows",
            w.inner, w.taps);
  p.firstSteps = static_cast<int32_t>(record_.weights.ownSteps());
  if (image) p.moreWindow = windowOf(*image, w);
  moreImage_ = image;
  mappedMore_ = nullptr;
}

void Mma90Launcher::launch(const runtime::LaunchArguments& arguments) {
  auto& p = parameters_;
  if (p.rows == 0) return;
  p.norm.x = arguments.inputs[0];
  p.w = arguments.inputs[1];
  p.data[0] = arguments.outputs[0];
  bool aligned = isAligned(arguments.inputs[0], kPackBytes) && isAligned(p.data[0], alignment_[0]);
  for (size_t k = 1; k < alignment_.size(); ++k) {
    p.data[k] = arguments.inputs[k + 1];
    aligned = aligned && isAligned(p.data[k], alignment_[k]);
  }
  checkUser(aligned, "a product by warpgroups: a tensor is not aligned to the bytes of 8 elements");
  if (mapped_ != arguments.inputs[0]) mapRows(p.x, arguments.inputs[0], image_, record_.weights);
  mapped_ = arguments.inputs[0];
  if (record_.more) {
    checkUser(isAligned(moreX_, kPackBytes), "a product by warpgroups: a tensor is not aligned to {} bytes",
              kPackBytes);
    if (mappedMore_ != moreX_) mapRows(p.more, moreX_, moreImage_, *record_.more);
    mappedMore_ = moreX_;
  }
  if (kept_ != nullptr) {
    if (mappedMore_ != kept_) mapPieces(p.more, kept_, record_.types.outputs[0]);
    mappedMore_ = kept_;
  }
  if (record_.carries()) {
    if (mappedY_ != p.data[0]) mapPieces(p.y, p.data[0], record_.types.outputs[0]);
    mappedY_ = p.data[0];
    if (const size_t whole = record_.wholeInput(); whole != 0) {
      if (mappedSum_ != p.data[whole]) mapPieces(p.sum, p.data[whole], record_.types.inputs[whole + 1]);
      mappedSum_ = p.data[whole];
    }
  }
  const auto& shape = record_.shape;
  launchCluster(function_, static_cast<unsigned>(shape.parts), tilesOfColumns_, tilesOfRows_, shape.threads(), &p,
                arguments.stream, static_cast<unsigned>(shape.sharedBytes()));
}

void Mma90Launcher::normalize(const void* moments, const void* weights, void* kept) {
  const auto& w = record_.weights;
  auto& norm = parameters_.norm;
  checkUser(isAligned(kept, kPackBytes) && isAligned(moments, kMomentBytes),
            "a product by warpgroups: normalized rows or their moments are not aligned to {} and {} bytes", kPackBytes,
            kMomentBytes);
  norm.moments = static_cast<const float*>(moments);
  norm.kept = kept;
  norm.columns = reinterpret_cast<const float*>(static_cast<const char*>(weights) + w.tileBytes());
  norm.elements = norm.columns + 3 * w.paddedColumns();
  norm.inner = static_cast<int32_t>(w.inner);
  norm.runs = (norm.inner + kMma90Columns - 1) / kMma90Columns;
  norm.lastMembers = static_cast<float>(norm.inner - (norm.runs - 1) * kMma90Columns);
  norm.lastPart = 1.f / norm.lastMembers;
  norm.part = 1.f / static_cast<float>(norm.inner);
  norm.epsilon = static_cast<float>(record_.norm->epsilon);
}

void Mma90Launcher::measure(void* moments) {
  checkUser(isAligned(moments, kMomentBytes), "a product by warpgroups: moments are not aligned to {} bytes",
            kMomentBytes);
  parameters_.moments = static_cast<float*>(moments);
}

void* Mma90Launcher::normalizeApart(const runtime::LaunchArguments& arguments) {
  auto& p = parameters_;
  checkUser(isAligned(arguments.inputs[0], kPackBytes),
            "a product by warpgroups: rows that are normalized are not aligned to {} bytes", kPackBytes);
  p.norm.x = arguments.inputs[0];
  p.plain = arguments.workspace;
  launchApart(arguments.stream);
  return p.plain;
}

void Mma90Launcher::measureApart(const runtime::LaunchArguments& arguments) { launchApart(arguments.stream); }

void Mma90Launcher::launchApart(void* stream) {
  constexpr unsigned kThreads = 256, kRows = kThreads / 32;
  const auto rows = static_cast<unsigned>(parameters_.rows);
  if (rows != 0) launchGrid(apart_, (rows + kRows - 1) / kRows, 1, 1, kThreads, &parameters_, stream);
}

void Mma90Launcher::endRows(const void* scale, const void* shift, void* kept) {
  checkUser(isAligned(kept, kPackBytes), "a product by warpgroups: rows are not aligned to {} bytes", kPackBytes);
  auto& p = parameters_;
  p.scale = scale;
  p.shift = shift;
  kept_ = kept;
  p.norm.part = 1.f / static_cast<float>(record_.weights.columns);
  p.norm.epsilon = static_cast<float>(record_.ends->epsilon);
}

void Mma90Launcher::mapRows(TileMap& map, const void* from, const std::optional<Mma90Image>& rowsImage,
                            const Mma90Weights& weights) const {
  CUtensorMap made;
  void* const x = const_cast<void*>(from);
  const auto type = mappedType(record_.types.inputs[0], record_.shape.isExact);
  const auto inner = static_cast<cuuint64_t>(weights.inner * weights.groups);
  const auto rowBytes = inner * static_cast<cuuint64_t>(weights.bytes);
  const auto ofStep = narrow(weights.ofStep());
  const auto rows = narrow(record_.shape.copiedRows());
  if (rowsImage) {
    const auto& image = *rowsImage;
    const auto height = static_cast<cuuint64_t>(image.height);
    const auto width = static_cast<cuuint64_t>(image.width);
    const auto depth = static_cast<cuuint64_t>(image.depth);
    const bool isDeep = image.isDeep;
    const int axes = isDeep ? 3 : 2;
    const auto images = static_cast<cuuint64_t>(image.images);
    const cuuint64_t extents[] = {inner, width, height, isDeep ? depth : images, images};
    const cuuint64_t pitches[] = {rowBytes, rowBytes * width, rowBytes * width * height,
                                  rowBytes * width * height * depth};
    const cuuint32_t steps[] = {1, narrow(image.stride[1]), narrow(image.stride[0]),
                                isDeep ? narrow(image.stride[2]) : 1, 1};
    int lower[3];
    int upper[3];
    for (int i = 0; i < axes; ++i) {
      const int from = i == 2 ? 2 : 1 - i;  // W, H, then D
      lower[i] = static_cast<int>(-image.before[from]);
      upper[i] = static_cast<int>(image.after[from] - (image.taps[from] - 1) * image.dilation[from]);
    }
    check(driver().tensorMapEncodeIm2col(&made, type, narrow(axes + 2), x, extents, pitches, lower, upper, ofStep, rows,
                                         steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                         CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          "cuTensorMapEncodeIm2col");
  } else {
    const bool hasPieces = record_.shape.depth > 1;  // steps as an axis of their own
    const auto all = static_cast<cuuint64_t>(parameters_.rows);
    const cuuint64_t extents[] = {hasPieces ? ofStep : inner, all, static_cast<cuuint64_t>(weights.ownSteps())};
    const cuuint64_t pitches[] = {rowBytes, kMma90Bytes};
    const cuuint32_t box[] = {ofStep, rows, narrow(record_.shape.depth)};
    const cuuint32_t steps[] = {1, 1, 1};
    check(driver().tensorMapEncodeTiled(&made, type, hasPieces ? 3 : 2, x, extents, pitches, box, steps,
                                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          "cuTensorMapEncodeTiled");
  }
  static_assert(sizeof(made) == sizeof(TileMap));
  std::memcpy(map.bytes, &made, sizeof(made));
}

void Mma90Launcher::mapPieces(TileMap& map, const void* y, DataType type) const {
  CUtensorMap made;
  const auto columns = static_cast<cuuint64_t>(parameters_.columns);
  const cuuint64_t extents[] = {columns, static_cast<cuuint64_t>(parameters_.rows)};
  const cuuint64_t pitches[] = {columns * 2};
  const cuuint32_t box[] = {narrow(kMma90Columns), narrow(record_.shape.pieceRows())};
  const cuuint32_t steps[] = {1, 1};
  check(driver().tensorMapEncodeTiled(&made, mappedType(type), 2, const_cast<void*>(y), extents, pitches, box, steps,
                                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  std::memcpy(map.bytes, &made, sizeof(made));
}

namespace {

Mma90Record checked(Mma90Record record, const runtime::KernelLoad& load) {
  if (const auto missing = mma90Missing(); !missing.empty())
    throw Unsupported("cuda.{}: {}", load.record.name, missing);
  const size_t at = record.weightsInput();
  if (load.constants.size() <= at || load.constants[at].data == nullptr)
    throw Unsupported("cuda.{}: the weights are no constant", load.record.name);
  const auto& w = load.constants[at];
  for (size_t i = 2; record.norm && i < at; ++i) {
    const auto& factors = load.constants[i];
    if (factors.data == nullptr) throw Unsupported("cuda.{}: factors of rows are no constant", load.record.name);
    checkUser(factors.dims.count() == record.weights.inner && factors.dtype == record.types.inputs[0],
              "cuda.{}: factors of {} do not fit rows of {}", load.record.name, factors.dims.text(),
              record.weights.inner);
  }
  if (record.more) {
    checkUser(load.constants.size() > record.sumWeights[1], "cuda.{}: too few operands", load.record.name);
    const auto& other = load.constants[record.sumWeights[1]];
    if (other.data == nullptr) throw Unsupported("cuda.{}: the weights are no constant", load.record.name);
    checkUser(other.dims.count() == record.more->count() && other.dtype == w.dtype,
              "cuda.{}: parameters {} do not fit weights {} of {}", load.record.name, load.record.params,
              other.dims.text(), name(other.dtype));
  }
  checkUser(w.dims.count() == record.weights.sourceCount() && bits(w.dtype) == 8 * record.weights.bytes,
            "cuda.{}: parameters {} do not fit weights {} of {}", load.record.name, load.record.params, w.dims.text(),
            name(w.dtype));
  return record;
}

}  // namespace

Mma90Kernel::Mma90Kernel(Mma90Record record, const runtime::KernelLoad& load)
    : record_(checked(std::move(record), load)), module_(load.nativeCode, record_.code()) {
  function_ = module_.function("tenon_mma90");
  allowSharedBytes(function_, static_cast<size_t>(record_.shape.sharedBytes()));
}

std::vector<runtime::PackedForm> Mma90Kernel::packedForms(Layout) const {
  std::vector<size_t> sources{record_.weightsInput()};
  if (record_.norm) sources = {record_.weightsInput(), 2, 3};
  if (record_.more) sources = {record_.sumWeights[0], record_.sumWeights[1]};
  return {{sources, record_.recipe(), record_.weights.packedBytes(), false}};
}

void Mma90Kernel::pack(const runtime::PackedForm& form, std::span<const void* const> sources, void* to) const {
  checkInternal(form.bytes == record_.weights.packedBytes(), "product by warpgroups: {} bytes of weights, expected {}",
                form.bytes, record_.weights.packedBytes());
  if (record_.norm) record_.weights.packScaled(sources[0], sources[1], sources[2], record_.types.inputs[0], to);
  else if (record_.more) packBoth(sources, to);
  else record_.weights.pack(sources[0], to);
}

// For each 64 columns the steps of one and of the other.
void Mma90Kernel::packBoth(std::span<const void* const> sources, void* to) const {
  auto first = record_.weights;
  first.moreSteps = 0;
  const Mma90Weights both[] = {first, *record_.more};
  auto* at = static_cast<char*>(to);
  for (size_t i = 0; i < 2; ++i) {
    const auto& weights = both[i];
    std::vector<uint64_t> packed(weights.packedBytes() / sizeof(uint64_t));
    weights.pack(sources[i], packed.data());
    const auto own = static_cast<size_t>(weights.steps() * kMma90TileBytes);
    const auto all = static_cast<size_t>(record_.weights.steps() * kMma90TileBytes);
    for (size_t tile = 0; tile < static_cast<size_t>(weights.tiles()); ++tile)
      std::memcpy(at + tile * all, reinterpret_cast<const char*>(packed.data()) + tile * own, own);
    at += own;
  }
}

}  // namespace tenon::backends::cuda
