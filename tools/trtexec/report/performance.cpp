// The performance report, line by line as trtexec prints it.
#include "performance.h"

#include "statistics.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::trtexec {

namespace {

using Severity = nvinfer1::ILogger::Severity;
using Traces = std::vector<InferenceTrace>;
using Part = float (InferenceTrace::*)() const;

std::vector<float> times(const Traces& traces, Part part) {
  std::vector<float> values;
  values.reserve(traces.size());
  for (const InferenceTrace& trace : traces) {
    values.push_back((trace.*part)());
  }
  return values;
}

double sum(const Traces& traces, Part part) {
  double total = 0;
  for (const InferenceTrace& trace : traces) {
    total += (trace.*part)();
  }
  return total;
}

std::string statisticsText(const Statistics& statistics, const std::vector<float>& percentages) {
  std::string text = fmt::format("min = {:.6g} ms, max = {:.6g} ms, mean = {:.6g} ms, median = {:.6g} ms",
                                 statistics.min, statistics.max, statistics.mean, statistics.median);
  for (size_t i = 0; i < percentages.size(); ++i) {
    text += fmt::format(", percentile({:g}%) = {:.6g} ms", percentages[i], statistics.percentiles[i]);
  }
  return text;
}

class Report {
 public:
  Report(const Traces& measured, const ReportOptions& options) : measured_(measured), options_(options) {}

  void say(std::string text, Severity severity = Severity::kINFO) { lines_.push_back({severity, std::move(text)}); }

  void averages() {
    const auto runs = static_cast<size_t>(options_.avgRuns);
    say("=== Trace details ===");
    say(fmt::format("Trace averages of {} runs:", runs));
    for (size_t begin = 0; begin + runs <= measured_.size(); begin += runs) {
      const Traces part(measured_.begin() + static_cast<std::ptrdiff_t>(begin),
                        measured_.begin() + static_cast<std::ptrdiff_t>(begin + runs));
      const auto mean = [&](Part which) { return sum(part, which) / static_cast<double>(runs); };
      say(fmt::format("Average on {} runs - GPU latency: {:.6g} ms - Host latency: {:.6g} ms (enqueue {:.6g} ms)", runs,
                      mean(&InferenceTrace::compute), mean(&InferenceTrace::latency), mean(&InferenceTrace::enqueue)));
    }
    say("");
  }

  void summary(double wallMs) {
    const auto row = [&](std::string_view title, Part part) {
      say(fmt::format("{}: {}", title,
                      statisticsText(summarize(times(measured_, part), options_.percentiles), options_.percentiles)));
    };
    say("=== Performance summary ===");
    say(fmt::format("Throughput: {:.6g} qps", wallMs > 0 ? static_cast<double>(measured_.size()) * 1000 / wallMs : 0));
    row("Latency", &InferenceTrace::latency);
    row("Enqueue Time", &InferenceTrace::enqueue);
    row("H2D Latency", &InferenceTrace::h2d);
    row("GPU Compute Time", &InferenceTrace::compute);
    row("D2H Latency", &InferenceTrace::d2h);
    say(fmt::format("Total Host Walltime: {:.6g} s", wallMs / 1000));
    say(fmt::format("Total GPU Compute Time: {:.6g} s", sum(measured_, &InferenceTrace::compute) / 1000));
  }

  void hints(const InferenceOptions& inference, bool onHost) {
    const Statistics compute = summarize(times(measured_, &InferenceTrace::compute), {});
    if (!onHost) {
      hintsForGpus(inference, compute);
    }
    constexpr float kUnstable = 0.01F;
    if (compute.variation > kUnstable) {
      say(fmt::format("* {} time is unstable, with coefficient of variance = {:.4g}%.",
                      onHost ? "Compute" : "GPU compute", compute.variation * 100),
          Severity::kWARNING);
      say(onHost ? "  A longer --duration, or a machine without other work, makes it more stable."
                 : "  A locked clock, --useSpinWait or a longer --duration makes it more stable.",
          Severity::kWARNING);
    }
  }

  //! On a host, enqueuing is computing, and a transfer is a copy within the same memory.
  void hintsForGpus(const InferenceOptions& inference, const Statistics& compute) {
    const Statistics enqueue = summarize(times(measured_, &InferenceTrace::enqueue), {});
    if (enqueue.median > 0.8F * compute.median && !inference.cudaGraph) {
      say("* Enqueuing takes nearly as long as computing: the host may bound the throughput, and --useCudaGraph may help.",
          Severity::kWARNING);
    }
    const double transfers = summarize(times(measured_, &InferenceTrace::h2d), {}).median +
                             summarize(times(measured_, &InferenceTrace::d2h), {}).median;
    if (transfers > compute.median && inference.dataTransfers) {
      say("* Transfers take longer than computing, so they may bound the throughput. --noDataTransfers leaves them out.",
          Severity::kWARNING);
    }
  }

  void explanations() {
    say("Explanations of the performance metrics are printed in the verbose logs.");
    const auto explain = [&](std::string_view text) { say(std::string(text), Severity::kVERBOSE); };
    explain("");
    explain("=== Explanations of the performance metrics ===");
    explain(
        "Total Host Walltime: from the first query after the warm-up to the end of the last one, seen from the host.");
    explain("GPU Compute Time: how long the device works on a query.");
    explain("Total GPU Compute Time: the sum of these; far below the wall time, the device was idle for want of work.");
    explain("Throughput: queries divided by the total host wall time.");
    explain("Enqueue Time: how long the host needs to hand a query to the device.");
    explain("H2D Latency: how long the inputs of a query take from host to device.");
    explain("D2H Latency: how long the outputs of a query take from device to host.");
    explain("Latency: H2D latency, GPU compute time and D2H latency together.");
  }

  std::vector<ReportLine> take() { return std::move(lines_); }

 private:
  const Traces& measured_;
  const ReportOptions& options_;
  std::vector<ReportLine> lines_;
};

}  // namespace

size_t countWarmUps(const std::vector<InferenceTrace>& traces, double warmUpMs) {
  const auto first = std::find_if(traces.begin(), traces.end(), [warmUpMs](const InferenceTrace& trace) {
    return static_cast<double>(trace.computeStart) >= warmUpMs;
  });
  return static_cast<size_t>(first - traces.begin());
}

std::vector<ReportLine> performanceReport(const std::vector<InferenceTrace>& traces, const InferenceOptions& inference,
                                          const ReportOptions& options, bool onHost) {
  const size_t warmUps = countWarmUps(traces, inference.warmUpMs);
  const Traces measured(traces.begin() + static_cast<std::ptrdiff_t>(warmUps), traces.end());
  Report report(measured, options);
  if (measured.empty()) {
    report.say(
        fmt::format("All {} queries ended within the warm-up of {} ms; there is nothing to report. Give a longer "
                    "--duration, more --iterations or a shorter --warmUp.",
                    traces.size(), inference.warmUpMs),
        Severity::kWARNING);
    return report.take();
  }
  float end = 0;
  float start = measured.front().h2dStart;
  for (const InferenceTrace& trace : measured) {
    end = std::max(end, trace.d2hEnd);
    start = std::min(start, trace.h2dStart);
  }
  const double wallMs = static_cast<double>(end) - static_cast<double>(start);
  report.say(fmt::format("Warmup completed {} queries over {:g} ms", warmUps, inference.warmUpMs));
  report.say(fmt::format("Timing trace has {} queries over {:.6g} s", measured.size(), wallMs / 1000));
  report.say("");
  report.averages();
  report.summary(wallMs);
  report.hints(inference, onHost);
  report.explanations();
  return report.take();
}

}  // namespace tenon::trtexec
