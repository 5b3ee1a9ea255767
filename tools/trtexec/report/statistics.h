// Order statistics of measured times.
#pragma once

#include <vector>

namespace tenon::trtexec {

struct Statistics {
  float min = 0;
  float max = 0;
  float mean = 0;
  float median = 0;
  //! Standard deviation over mean; 0 when the mean is 0.
  float variation = 0;
  //! In the order of the percentages asked for.
  std::vector<float> percentiles;
};

//! All zero for no values.
Statistics summarize(std::vector<float> values, const std::vector<float>& percentages);

//! The value that `percentage` percent of the ascending values do not exceed.
float percentile(const std::vector<float>& ascending, float percentage);

float median(const std::vector<float>& ascending);

}  // namespace tenon::trtexec
