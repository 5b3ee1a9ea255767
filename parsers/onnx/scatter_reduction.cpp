// Scatters with a reduction by the operator of Tenon.
#include "scatter_reduction.h"

#include <algorithm>
#include <array>
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

Term scatterElementsReduced(const Term& data, const Term& indices, const Term& updates, int64_t axis,
                            ScatterReduction reduction) {
  const std::string_view op = kReductions[static_cast<size_t>(reduction)].op;
  return addOperator(fmt::format("scatter_reduce{{op={} axis={}}}", op, axis), {data, indices, updates});
}

// Rows of a matrix at indices that count in it.
Term scatterNdReduced(const Term& data, const Term& indices, const Term& updates, ScatterReduction reduction) {
  NetworkWriter& writer = data.writer();
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
  return scatterElementsReduced(data.reshape(extentsOf({rows, inner})), wide,
                                updates.reshape(extentsOf({count, inner})), 0, reduction)
      .reshape(data.dims());
}

}  // namespace tenon::parsers::onnx
