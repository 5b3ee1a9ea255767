// The performance report, line by line as trtexec prints it.
#pragma once

#include "../options/options.h"
#include "trace.h"

#include <string>
#include <vector>

namespace tenon::trtexec {

struct ReportLine {
  nvinfer1::ILogger::Severity severity;
  std::string text;
};

//! How many traces at the beginning belong to the warm-up. The traces are in the order of their computation.
size_t countWarmUps(const std::vector<InferenceTrace>& traces, double warmUpMs);

//! Trace averages, summary, hints that fit the device (the host itself, or a GPU) and (verbose) explanations.
std::vector<ReportLine> performanceReport(const std::vector<InferenceTrace>& traces, const InferenceOptions& inference,
                                          const ReportOptions& report, bool onHost);

}  // namespace tenon::trtexec
