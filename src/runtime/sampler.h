// An optional capability of a device: work that is recorded once and timed often.
#pragma once

#include <memory>

#include "runtime/device.h"

namespace tenon::runtime {

// Recorded work. Used by one thread.
class Sample {
 public:
  virtual ~Sample() = default;
  virtual double seconds() = 0;  // that the device takes for the work once more
};

// The other face of a device, asked for by dynamic_cast. Thread-safe.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // What `work` puts on its stream now is what each run repeats, so what it names stays. Null where that cannot be
  // recorded.
  virtual std::unique_ptr<Sample> sample(void (*work)(void* argument, StreamHandle stream), void* argument) = 0;
};

}  // namespace tenon::runtime
