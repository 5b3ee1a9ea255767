// Scatters with a reduction by comparison of the indices with all places.
#include "scatter_reduction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "common/fold.h"
#include "registered_plugin.h"

namespace tenon::parsers::onnx {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;

struct Combination {
  ReduceOperation reduce;
  ElementWiseOperation combine;
  double neutral;
};

Combination combinationOf(ScatterReduction reduction, DataType type) {
  const bool real = isFloating(type);
  const double most = real                       ? INFINITY
                      : type == DataType::kINT8  ? 127
                      : type == DataType::kUINT8 ? 255
                      : type == DataType::kINT32 ? 2147483647.0
                                                 : 9.2e18;
  const double least = real ? -INFINITY : type == DataType::kUINT8 ? 0 : type == DataType::kINT64 ? -9.2e18 : -most - 1;
  switch (reduction) {
    case ScatterReduction::kMul: return {ReduceOperation::kPROD, ElementWiseOperation::kPROD, 1};
    case ScatterReduction::kMax: return {ReduceOperation::kMAX, ElementWiseOperation::kMAX, least};
    case ScatterReduction::kMin: return {ReduceOperation::kMIN, ElementWiseOperation::kMIN, most};
    default: return {ReduceOperation::kSUM, ElementWiseOperation::kSUM, 0};
  }
}

void checkSize(const Term& hits, const Term& values) {
  int64_t count = 1;
  const Dimensions a = hits.shape();
  const Dimensions b = values.shape();
  for (size_t i = 0; i < a.size(); ++i) {
    const int64_t extent = std::max(a[i], b[i]);
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count) || count > kMovementLimit) {
      fail(FaultKind::kUnsupportedShape,
           fmt::format("a scatter with a reduction compares {} with {}; expected static extents and {} comparisons at "
                       "most",
                       toString(a), toString(b), kMovementLimit));
    }
  }
}

// Updates at one more axis `at` behind which `count` places stand, reduced over axis `over`.
Term gathered(const Term& indices, const Term& updates, const Term& places, int64_t over,
              const Combination& combination) {
  checkSize(equal(indices, places), updates);
  return where(equal(indices, places), updates, updates.number(combination.neutral))
      .reduce(combination.reduce, {over}, false);
}

}  // namespace

constexpr std::array<std::string_view, 5> kReductions{"none", "add", "mul", "max", "min"};

ScatterReduction readScatterReduction(const OnnxNode& node) {
  const std::vector<std::string> names(kReductions.begin(), kReductions.end());
  const std::string name = node.choice("reduction", "none", names);
  return static_cast<ScatterReduction>(std::find(names.begin(), names.end(), name) - names.begin());
}

namespace {

// By the plugin of the standard library, where it is registered: extents and indices of any kind.
std::optional<Term> scattered(const Term& data, const Term& indices, const Term& updates, int64_t axis,
                              ScatterReduction reduction) {
  const std::string_view name = kReductions[static_cast<size_t>(reduction)];
  const auto at = static_cast<int32_t>(axis);
  return addRegistered("ScatterElements", "2",
                       {{"reduction", name.data(), nvinfer1::PluginFieldType::kCHAR, static_cast<int32_t>(name.size())},
                        {"axis", &at, nvinfer1::PluginFieldType::kINT32, 1}},
                       {data, indices, updates});
}

}  // namespace

Term scatterElementsReduced(const Term& data, const Term& indices, const Term& updates, int64_t axis,
                            ScatterReduction reduction) {
  if (const auto made = scattered(data, indices, updates, axis, reduction)) {
    return *made;
  }
  const Combination combination = combinationOf(reduction, data.type());
  const int64_t rank = data.rank();
  // The axis of the indices to the end, behind it the places of the data.
  std::vector<int64_t> others;
  for (int64_t i = 0; i <= rank; ++i) {
    if (i != axis) {
      others.push_back(i);
    }
  }
  const Term places = iota(data.writer(), data.dim(axis), indices.type()).unsqueeze(others);
  Term found = gathered(indices.unsqueeze({axis}), updates.unsqueeze({axis}), places, axis + 1, combination);
  for (int64_t i = 0; i < rank; ++i) {  // rows of the data that no index names
    const int64_t missing = data.fixedDim(i, "an extent of the data") - found.fixedDim(i, "an extent of the indices");
    found = found.pad(i, 0, missing, combination.neutral);
  }
  return data.binary(found, combination.combine);
}

Term scatterNdReduced(const Term& data, const Term& indices, const Term& updates, ScatterReduction reduction) {
  NetworkWriter& writer = data.writer();
  const Combination combination = combinationOf(reduction, data.type());
  const int64_t length = indices.fixedDim(-1, "the length of an index");
  const int64_t last = indices.rank() - 1;
  int64_t rows = 1;
  int64_t inner = 1;
  std::optional<Term> flat;
  for (int64_t i = 0; i < data.rank(); ++i) {
    const int64_t extent = data.fixedDim(i, "an extent of the data");
    (i < length ? rows : inner) *= extent;
    if (i < length) {
      const Term part = indices.at(last, i);
      const Term counted = where(part < 0.0, part + static_cast<double>(extent), part);
      flat = flat ? *flat * static_cast<double>(extent) + counted : counted;
    }
  }
  const int64_t count = elementCount(flat->shape());
  const Term list = flat->reshape(extentsOf({count, 1}));
  const Term wide{writer, writer.expand(list, extentsOf({count, inner}))};
  if (const auto made = scattered(data.reshape(extentsOf({rows, inner})), wide,
                                  updates.reshape(extentsOf({count, inner})), 0, reduction)) {
    return made->reshape(data.dims());
  }
  const Term places = iota(writer, ParsedExtent::of(rows), indices.type()).unsqueeze({0, 2});
  const Term found = gathered(flat->reshape(extentsOf({count, 1, 1})), updates.reshape(extentsOf({count, 1, inner})),
                              places, 0, combination);
  return data.binary(found.reshape(data.dims()), combination.combine);
}

}  // namespace tenon::parsers::onnx
