// Scatters with a reduction by the operator of Tenon.
#include "scatter_reduction.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "operator_plugin.h"

namespace tenon::parsers::onnx {
namespace {

struct NamedReduction {
  std::string_view onnx, op;
};
constexpr std::array<NamedReduction, 5> kReductions{
    {{"none", ""}, {"add", "sum"}, {"mul", "prod"}, {"max", "max"}, {"min", "min"}}};

}  // namespace

ScatterReduction readScatterReduction(const OnnxNode& node) {
  std::vector<std::string> names;
  for (const auto& reduction : kReductions) {
    names.emplace_back(reduction.onnx);
  }
  const std::string name = node.choice("reduction", "none", names);
  return static_cast<ScatterReduction>(std::find(names.begin(), names.end(), name) - names.begin());
}

// Of truth values a sum is whether one is true, as the greatest, and a product whether all are, as the least.
Term scatterElementsReduced(const Term& data, const Term& indices, const Term& updates, int64_t axis,
                            ScatterReduction reduction) {
  using nvinfer1::DataType;
  if (data.type() == DataType::kBOOL) {
    const bool isAny = reduction == ScatterReduction::kAdd || reduction == ScatterReduction::kMax;
    return scatterElementsReduced(data.cast(DataType::kINT32), indices, updates.cast(DataType::kINT32), axis,
                                  isAny ? ScatterReduction::kMax : ScatterReduction::kMin)
        .cast(DataType::kBOOL);
  }
  const std::string_view op = kReductions[static_cast<size_t>(reduction)].op;
  return addOperator(fmt::format("scatter_reduce{{op={} axis={}}}", op, axis), {data, indices, updates});
}

// Rows of a matrix at indices that count in it. Extents may be known only at run time, but for the length of an index.
Term scatterNdReduced(const Term& data, const Term& indices, const Term& updates, ScatterReduction reduction) {
  NetworkWriter& writer = data.writer();
  const int64_t length = indices.fixedDim(-1, "the length of an index");
  if (length < 1 || length > data.rank()) {
    fail(FaultKind::kInvalidNode,
         fmt::format("indices have {} entries each; expected 1 to {}, the rank of the data", length, data.rank()));
  }
  const int64_t last = indices.rank() - 1;
  const auto product = [&](const ParsedExtent& a, const ParsedExtent& b) {
    return writer.combine(a, b, nvinfer1::ElementWiseOperation::kPROD);
  };
  ParsedExtent rows = ParsedExtent::of(1);
  ParsedExtent inner = ParsedExtent::of(1);
  std::optional<Term> flat;
  for (int64_t i = 0; i < data.rank(); ++i) {
    const ParsedExtent extent = data.dim(i);
    ParsedExtent& side = i < length ? rows : inner;
    side = product(side, extent);
    if (i < length) {
      const Term part = indices.at(last, i);
      const Term number{writer, writer.cast(writer.fromExtents({extent}, true), indices.type())};
      const Term counted = where(part < 0.0, part + number, part);
      flat = flat ? *flat * number + counted : counted;
    }
  }
  ParsedExtent count = ParsedExtent::of(1);
  for (const ParsedExtent& extent : flat->dims()) {
    count = product(count, extent);
  }
  const Term list = flat->reshape({count, ParsedExtent::of(1)});
  // Every element of a row has its index, and half of the bytes do where they hold all rows.
  const bool isShort = rows.known() && rows.value <= std::numeric_limits<int32_t>::max();
  const ParsedValue narrow = isShort ? writer.cast(list.value(), nvinfer1::DataType::kINT32) : list.value();
  const Term wide{writer, writer.expand(narrow, {count, inner})};
  return scatterElementsReduced(data.reshape({rows, inner}), wide, updates.reshape({count, inner}), 0, reduction)
      .reshape(data.dims());
}

}  // namespace tenon::parsers::onnx
