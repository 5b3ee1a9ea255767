// By the extents alone, but for the order, which the number of multiprocessors decides, too.
#include "backends/cuda/kernels/normalization/normalization_form.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/common/space.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

bool perGroup(const ops::Normalization& op, const runtime::TensorShape& parameter, const Dims& x) {
  return op.groups > 1 && parameter.dims.rank == x.rank && parameter.dims[1] == op.groups;
}

Strides parameterStrides(const ops::Normalization& op, const runtime::TensorShape& parameter, const Dims& x) {
  auto strides = stridesWithin(parameter.dims, parameter.layout, x);
  if (perGroup(op, parameter, x)) strides[1] = stridesOf(parameter.dims, parameter.layout)[1];
  return strides;
}

// Axis 1 becomes two: the groups, over which is not reduced, and their channels.
void splitChannels(const ops::Normalization& op, const runtime::Shapes& shapes, Dims& dims,
                   std::vector<bool>& isReduced, std::vector<Strides>& operands) {
  const Dims whole = dims;
  const int64_t run = std::max<int64_t>(whole[1] / op.groups, 1);
  dims = {};
  std::vector<bool> mask;
  std::vector<Strides> split(operands.size(), Strides{});
  for (int axis = 0; axis < whole.rank; ++axis) {
    const auto at = static_cast<size_t>(axis);
    const int parts = axis == 1 ? 2 : 1;
    for (int part = 0; part < parts; ++part) {
      const auto to = static_cast<size_t>(dims.rank);
      for (size_t k = 0; k < operands.size(); ++k) {
        const bool grouped = axis == 1 && k > 0 && perGroup(op, shapes.inputs[k], whole);
        split[k][to] = axis != 1   ? operands[k][at]
                       : part == 0 ? operands[k][at] * (grouped ? 1 : run)
                       : grouped   ? 0
                                   : operands[k][at];
      }
      dims.push(axis != 1 ? whole[axis] : part == 0 ? op.groups : run);
      mask.push_back(axis == 1 ? part == 1 : isReduced[at]);
    }
  }
  isReduced = mask;
  operands = split;
}

}  // namespace

std::string partsOf(std::string_view split) {
  return fmt::format("{}{}parts", kNormalize, split.substr(0, split.size() - kSplit.size()));
}

NormalizationShape::NormalizationShape(const ops::Normalization& op, const runtime::Shapes& shapes) {
  constexpr int64_t kPackBytes = 16;
  const auto& x = shapes.inputs[0];
  Dims dims = x.dims;
  auto isReduced = axisMask(op.axes, dims.rank);
  std::vector<Strides> operands{stridesOf(dims, x.layout), parameterStrides(op, shapes.inputs[1], dims),
                                parameterStrides(op, shapes.inputs[2], dims)};
  if (op.groups > 1) splitChannels(op, shapes, dims, isReduced, operands);
  const auto axes = splitAxes(dims, isReduced, operands);
  count = x.dims.count();
  if (count == 0) return;
  parameters.epsilon = static_cast<float>(op.epsilon);
  setSpace(parameters.groups, axes.kept);
  setSpace(parameters.inside, axes.reduced);
  const int64_t members = parameters.members = parameters.inside.count;
  const int64_t groups = parameters.groups.count;
  checkUser(!isWide(parameters.groups) && !isWide(parameters.inside),
            "normalization: {} statistics over {} elements exceed the grid", groups, members);
  const int64_t pack = kPackBytes / (bits(x.dtype) / 8);
  findRows(axes, pack);
  if (packed.empty()) findPlanes(axes, pack);
  // A thread of "4" or "16" keeps so many members in registers; of a block of 256 threads and more each takes any.
  constexpr int64_t kOfWarp = 128, kFour = 4;
  const int64_t threads = std::clamp<int64_t>((members + 3) / 4, 128, groups < fewBlocks() ? 1024 : 256);
  if (members <= kOfWarp) any = {"warp"};
  else if (members <= kFour * ((threads + 31) / 32 * 32)) any = {"4", "16"};
  else any = {"16", "4"};
  findParts();
}

// Few statistics of so many members that a block of its own each would leave most of the chip idle. On an H200 one
// block takes 83 us for 62,720 members one by one, and some 120 for 300,000 in packs; parts of 2,048 lost with 32
// groups of planes.
void NormalizationShape::findParts() {
  constexpr int64_t kMany = 8192, kAtOnce = 2048;
  const int64_t groups = parameters.groups.count;
  if (parameters.members < kMany) return;
  const int64_t mostParts = std::max<int64_t>(4 * multiprocessors() / groups, 1);
  const int64_t least = (parameters.members + mostParts - 1) / mostParts;
  parameters.partMembers = (least + kAtOnce - 1) / kAtOnce * kAtOnce;
  parameters.parts = (parameters.members + parameters.partMembers - 1) / parameters.partMembers;
  any.insert(groups <= multiprocessors() / 4 ? any.begin() : any.end(), "split");
  if (packed != std::vector<std::string_view>{"planes"}) return;
  packed.insert(groups <= multiprocessors() / 8 ? packed.begin() : packed.end(), "planes_split");
}

// Rows in one piece: x, scale and bias step alike, and whole packs.
void NormalizationShape::findRows(const SplitAxes& axes, int64_t pack) {
  const int64_t members = parameters.members;
  if (axes.reduced.extents.size() != 1 || members % pack != 0) return;
  const int64_t groups = parameters.groups.count;
  for (size_t k = 0; k < 3; ++k) {
    if (axes.reduced.strides[k][0] != 1) return;
    for (const int64_t stride : axes.kept.strides[k]) {
      if (groups > 1 && stride % pack != 0) return;
    }
  }
  packs = members / pack;
  // Rows of at most a warp's packs that share scale and bias, so many that lanes may take several each.
  constexpr int64_t kRowsOfLanes = 4, kThreads = 256;
  const int64_t lanes = packs <= 8 ? 8 : packs <= 16 ? 16 : 32;
  const auto stands = [](const auto& strides) {
    return std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; });
  };
  const bool isShared = packs <= lanes && std::all_of(axes.kept.strides.begin() + 1, axes.kept.strides.end(), stands);
  const std::string_view manyRows = lanes == 8 ? "many_rows_8" : lanes == 16 ? "many_rows_16" : "many_rows_32";
  const bool areMany = groups >= kRowsOfLanes * kThreads / lanes * fewBlocks();
  if (isShared && areMany) packed.push_back(manyRows);

  const int64_t threads = (packs + 31) / 32 * 32;
  constexpr int64_t kOfWarp = 32, kMostPerThread = 4;
  constexpr int64_t kMostOfBlock = 256, kAtOnce = 1024;  // threads, of a multiprocessor
  const bool isBlock = packs > kOfWarp && threads <= kMostOfBlock;
  const bool areFew = groups * threads <= kAtOnce * multiprocessors();
  if (isBlock && areFew) packed.emplace_back("few_rows_block");
  constexpr int64_t kFewRows = 2048;  // all are on their way at once, whatever registers they take
  if (packs <= kOfWarp) {
    packed.emplace_back("rows_warp_1");
  } else if (packs <= kOfWarp * kMostPerThread) {
    packed.emplace_back(groups <= kFewRows ? "few_rows_warp_4" : "rows_warp_4");
  } else if (packs <= 1024 * kMostPerThread) {
    packed.emplace_back("rows_block");
  }
  // What a plan may hold that was made for a chip with more or fewer multiprocessors.
  if (isShared && !areMany) packed.push_back(manyRows);
  if (isBlock && !areFew) packed.emplace_back("few_rows_block");
}

// Members of x in one piece, of which runs of whole packs share scale and bias.
void NormalizationShape::findPlanes(const SplitAxes& axes, int64_t pack) {
  const auto& inside = axes.reduced;
  const size_t last = inside.extents.size() - 1;
  if (last > 1 || parameters.members < 1024 || inside.extents[last] % pack != 0 || inside.strides[0][last] != 1) return;
  if (last == 1 && inside.strides[0][0] != inside.extents[1]) return;
  if (inside.strides[1][last] != 0 || inside.strides[2][last] != 0) return;
  for (const int64_t stride : axes.kept.strides[0]) {
    if (parameters.groups.count > 1 && stride % pack != 0) return;
  }
  packs = parameters.members / pack;
  packed.emplace_back("planes");
}

}  // namespace tenon::backends::cuda
