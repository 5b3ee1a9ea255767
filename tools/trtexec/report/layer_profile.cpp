// Collects the times of layers and prints them as a table.
#include "layer_profile.h"

#include "statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tenon::trtexec {

void LayerProfile::reportLayerTime(const char* layerName, float ms) noexcept {
  const std::lock_guard lock(mutex_);
  // The first layer's name begins a new inference; several layers of one name keep a row each.
  if (layers_.empty() || layers_.front().name == layerName) {
    next_ = 0;
    ++inferences_;
  }
  if (next_ < layers_.size() && layers_[next_].name != layerName) {
    // Layers that ran conditionally may be absent this time, or come for the first time.
    const auto found = std::find_if(layers_.begin() + static_cast<std::ptrdiff_t>(next_), layers_.end(),
                                    [&](const Layer& layer) { return layer.name == layerName; });
    next_ = static_cast<size_t>(found - layers_.begin());
  }
  if (next_ == layers_.size()) {
    layers_.push_back({layerName, {}});
  }
  layers_[next_++].ms.push_back(ms);
}

std::vector<LayerTimes> LayerProfile::rows() const {
  std::vector<LayerTimes> rows;
  float all = 0;
  for (const Layer& layer : layers_) {
    std::vector<float> sorted = layer.ms;
    std::sort(sorted.begin(), sorted.end());
    const float total = std::accumulate(sorted.begin(), sorted.end(), 0.0F);
    all += total;
    rows.push_back({layer.name, total, total / static_cast<float>(sorted.size()), median(sorted), 0});
  }
  for (LayerTimes& row : rows) {
    row.percentage = all > 0 ? row.totalMs / all * 100 : 0;
  }
  return rows;
}

std::vector<std::string> LayerProfile::table() const {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("=== Profile ({} iterations ) ===", inferences_));
  lines.push_back(
      fmt::format("{:>12}{:>13}{:>13}{:>10}   {}", "Time(ms)", "Avg.(ms)", "Median(ms)", "Time(%)", "Layer"));
  const auto add = [&lines](const LayerTimes& row) {
    lines.push_back(fmt::format("{:>12.2f}{:>13.4f}{:>13.4f}{:>10.1f}   {}", row.totalMs, row.averageMs, row.medianMs,
                                row.percentage, row.name));
  };
  LayerTimes total{"Total"};
  for (const LayerTimes& row : rows()) {
    add(row);
    total.totalMs += row.totalMs;
    total.averageMs += row.averageMs;
    total.medianMs += row.medianMs;
    total.percentage += row.percentage;
  }
  add(total);
  return lines;
}

}  // namespace tenon::trtexec
