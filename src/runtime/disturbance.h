// Devices that notice when something else slows a measurement down.
#pragma once

namespace tenon::runtime {

// A Device may be one.
class Disturbance {
 public:
  virtual ~Disturbance() = default;
  // Whether other programs had a part in what the calling thread's last measure() returned: without them it would be
  // less, or the same.
  virtual bool wasDisturbed() const = 0;
};

}  // namespace tenon::runtime
