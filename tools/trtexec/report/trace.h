// What is known of one inference: when each part began and ended.
#pragma once

namespace tenon::trtexec {

//! Milliseconds since the measurement began. The enqueue times are those of the host, the others those of the device.
struct InferenceTrace {
  int stream = 0;
  float enqueueStart = 0;
  float enqueueEnd = 0;
  float h2dStart = 0;
  float h2dEnd = 0;
  float computeStart = 0;
  float computeEnd = 0;
  float d2hStart = 0;
  float d2hEnd = 0;

  float enqueue() const { return enqueueEnd - enqueueStart; }
  float h2d() const { return h2dEnd - h2dStart; }
  float compute() const { return computeEnd - computeStart; }
  float d2h() const { return d2hEnd - d2hStart; }
  float latency() const { return h2d() + compute() + d2h(); }
};

}  // namespace tenon::trtexec
