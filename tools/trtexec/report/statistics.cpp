// Order statistics of measured times.
#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace tenon::trtexec {

float percentile(const std::vector<float>& ascending, float percentage) {
  if (ascending.empty()) {
    return 0;
  }
  const auto count = static_cast<double>(ascending.size());
  const auto above = static_cast<size_t>((100 - static_cast<double>(percentage)) * count / 100);
  return ascending[ascending.size() - 1 - std::min(above, ascending.size() - 1)];
}

float median(const std::vector<float>& ascending) {
  if (ascending.empty()) {
    return 0;
  }
  const size_t middle = ascending.size() / 2;
  return ascending.size() % 2 == 1 ? ascending[middle] : (ascending[middle - 1] + ascending[middle]) / 2;
}

Statistics summarize(std::vector<float> values, const std::vector<float>& percentages) {
  Statistics result;
  result.percentiles.assign(percentages.size(), 0);
  if (values.empty()) {
    return result;
  }
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const float value : values) {
    squares += (value - mean) * (value - mean);
  }
  result.min = values.front();
  result.max = values.back();
  result.mean = static_cast<float>(mean);
  result.median = median(values);
  result.variation = mean > 0 ? static_cast<float>(std::sqrt(squares / count) / mean) : 0;
  for (size_t i = 0; i < percentages.size(); ++i) {
    result.percentiles[i] = percentile(values, percentages[i]);
  }
  return result;
}

}  // namespace tenon::trtexec
