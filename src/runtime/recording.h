// An optional capability of a device: work that is captured once and replayed (CUDA graphs).
#pragma once

#include <memory>

#include "runtime/device.h"

namespace tenon::runtime {

// Recorded work, put on streams again without being called.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay(StreamHandle stream) = 0;  // allocates nothing
};

// The other face of a device that records; asked for by dynamic_cast. Thread-safe.
class Recorder {
 public:
  virtual ~Recorder() = default;
  // What `work` puts on the stream that it is given; null where it cannot be recorded. The work must have run once
  // before, so that nothing is loaded lazily. `reuse` may be null: a recording that is no longer needed, of the same
  // steps with other addresses at best.
  virtual std::unique_ptr<Recording> record(void (*work)(void* argument, StreamHandle stream), void* argument,
                                            std::unique_ptr<Recording> reuse) = 0;
  virtual bool isCapturing(StreamHandle stream) = 0;  // into a graph of the caller
};

// The other face of an instance whose launches may not be recorded; asked for by dynamic_cast. All others may.
class Recordable {
 public:
  virtual ~Recordable() = default;
  virtual bool mayBeRecorded() const = 0;
};

}  // namespace tenon::runtime
