// The JSON files of the tool, through nlohmann_json.
#include "exports.h"

#include "tensor_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tenon::trtexec {

namespace {

// Floats as numbers: what is printed is the shortest text that gives the same float again.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t, uint64_t, float>;

//! One row per line: readable, and a file of many iterations stays small.
std::string rowsText(const std::vector<Json>& rows) {
  std::string text = "[";
  for (size_t i = 0; i < rows.size(); ++i) {
    text += (i == 0 ? "\n  " : ",\n  ") + rows[i].dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text + "\n]\n";
}

}  // namespace

int64_t TensorView::volume() const {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    count *= extent;
  }
  return count;
}

size_t TensorView::offsetOf(int64_t index) const {
  if (strides.empty()) {
    return static_cast<size_t>(index);
  }
  int64_t offset = 0;
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t position = index % shape[d];
    index /= shape[d];
    if (static_cast<int32_t>(d) == vectorDimension) {
      offset += position / components * strides[d] * components + position % components;
    } else {
      offset += position * strides[d] * components;
    }
  }
  return static_cast<size_t>(offset);
}

std::string dimensionsText(const Shape& shape) { return fmt::format("{}", fmt::join(shape, "x")); }

std::string timesJson(const std::vector<InferenceTrace>& measured) {
  std::vector<Json> rows;
  for (const InferenceTrace& trace : measured) {
    rows.push_back(Json::object({{"startEnqMs", trace.enqueueStart},
                                 {"endEnqMs", trace.enqueueEnd},
                                 {"startH2dMs", trace.h2dStart},
                                 {"endH2dMs", trace.h2dEnd},
                                 {"startComputeMs", trace.computeStart},
                                 {"endComputeMs", trace.computeEnd},
                                 {"startD2hMs", trace.d2hStart},
                                 {"endD2hMs", trace.d2hEnd},
                                 {"enqueueMs", trace.enqueue()},
                                 {"h2dMs", trace.h2d()},
                                 {"computeMs", trace.compute()},
                                 {"d2hMs", trace.d2h()},
                                 {"latencyMs", trace.latency()}}));
  }
  return rowsText(rows);
}

std::string tensorsJson(const std::vector<TensorView>& tensors) {
  std::vector<Json> rows;
  for (const TensorView& tensor : tensors) {
    Json values = Json::array();
    for (int64_t i = 0; i < tensor.volume(); ++i) {
      std::visit([&values](auto value) { values.push_back(value); },
                 readElement(tensor.type, tensor.data, tensor.offsetOf(i)));
    }
    rows.push_back(Json::object(
        {{"name", tensor.name}, {"dimensions", dimensionsText(tensor.shape)}, {"values", std::move(values)}}));
  }
  return rowsText(rows);
}

std::string profileJson(const LayerProfile& profile) {
  std::vector<Json> rows;
  rows.push_back(Json::object({{"count", profile.inferences()}}));
  for (const LayerTimes& row : profile.rows()) {
    rows.push_back(Json::object({{"name", row.name},
                                 {"timeMs", row.totalMs},
                                 {"averageMs", row.averageMs},
                                 {"medianMs", row.medianMs},
                                 {"percentage", row.percentage}}));
  }
  return rowsText(rows);
}

}  // namespace tenon::trtexec
