// An optional capability of a device: auxiliary streams besides the caller's.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/device.h"

namespace tenon::runtime {

// Streams and events of one context. Used by one thread at a time; nothing here allocates once it is made.
class StreamSet {
 public:
  virtual ~StreamSet() = default;
  virtual StreamHandle stream(size_t index) const = 0;
  // The event stands for what is on the stream now; an event may be used again as soon as those that wait have been
  // told.
  virtual void signal(size_t event, StreamHandle stream) = 0;
  virtual void wait(size_t event, StreamHandle stream) = 0;
};

// The other face of a device on which streams run side by side; asked for by dynamic_cast. Thread-safe.
class Branching {
 public:
  virtual ~Branching() = default;
  virtual std::unique_ptr<StreamSet> makeStreams(size_t streams, size_t events) = 0;
};

}  // namespace tenon::runtime
