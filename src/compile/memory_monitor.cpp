// Lines of memory in the log.
#include "compile/memory_monitor.h"

#include "core/platform/memory.h"

namespace tenon::compile {

void MemoryMonitor::report(std::string_view stage) const {
  if (!wanted_) return;
  constexpr double kMiB = 1 << 20;
  const auto memory = platform::processMemory();
  log_.info("Host memory after {}: {:.1f} MiB, at most {:.1f} MiB.", stage,
            static_cast<double>(memory.residentBytes) / kMiB, static_cast<double>(memory.peakBytes) / kMiB);
}

}  // namespace tenon::compile
