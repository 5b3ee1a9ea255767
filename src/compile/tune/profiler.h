// Measures candidates: an interface, and the one that runs them on the device.
#pragma once

#include <memory>
#include <string>

#include "compile/stages.h"
#include "compile/tactics/tactic.h"
#include "core/log.h"

namespace tenon::runtime {
class Device;
}

namespace tenon::compile {

struct Measurement {
  double seconds = 0;  // infinity when the candidate cannot be used; `failure` says why
  uint64_t workspaceBytes = 0;
  std::string failure;
  bool lasting = false;  // it will fail in the same way next time
  bool refused = false;  // the library or kernel says that it cannot
};

// Called by the building thread only.
class Profiler {
 public:
  virtual ~Profiler() = default;
  // Candidates of this problem that are measured later and compute something else than this one are failures. Returns
  // the seconds that the device takes for one run, the first; infinity when it fails, and nothing is compared then.
  virtual double trust(const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
                       std::span<const std::byte> nativeCode) = 0;
  // `best`: seconds of the best candidate so far; a profiler may stop early when the candidate is far behind.
  virtual Measurement measure(const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
                              std::span<const std::byte> nativeCode, double best) = 0;
  // The same of one run by itself, which is longer by what one launch costs: an order of many candidates.
  virtual Measurement glance(const Problem& problem, const Candidate& candidate, const plan::KernelRecord& record,
                             std::span<const std::byte> nativeCode) = 0;
};

// Runs the kernel on random data in memory of its own with red zones around every output and the workspace; the time
// is the fastest of up to twice `iterations` samples, of which long or hopeless candidates get fewer.
std::unique_ptr<Profiler> makeDeviceProfiler(runtime::Device& device, int iterations, Stages& stages, Log& log);

}  // namespace tenon::compile
