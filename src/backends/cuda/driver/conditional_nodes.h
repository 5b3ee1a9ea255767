// Conditional nodes of CUDA graphs: loops and branches about which the device decides, in the graph that a stream is
// being captured to.
#pragma once

#include <cstdint>
#include <functional>

#include "backends/cuda/driver/libraries.h"

namespace tenon::backends::cuda {

// Whether the driver has them (CUDA 12.8 and later). TENON_CUDA_CONDITIONAL_NODES=0 says no.
bool hasConditionalNodes();

bool isCapturing(void* stream);

// A stream that bodies of nodes are captured from, one after the other.
class BodyStream {
 public:
  BodyStream();
  ~BodyStream();
  BodyStream(const BodyStream&) = delete;
  BodyStream& operator=(const BodyStream&) = delete;
  CUstream get() const { return stream_; }

 private:
  CUstream stream_ = nullptr;
};

// What a node of the graph that `stream` is captured to looks at. A kernel sets it (setCondition of intrinsics.cuh),
// on that stream before the node, or in the node's body. Bodies hold kernels, copies, memsets and nodes of their own,
// but no functions of the host.
class Condition {
 public:
  using Body = std::function<void(void* stream)>;
  explicit Condition(void* stream);
  uint64_t handle() const { return handle_; }
  // Behind what the stream has captured so far; what is captured then comes behind the node.
  void whileItHolds(const BodyStream& inner, const Body& body);
  void choose(const BodyStream& inner, const Body& then, const Body& otherwise);

 private:
  void addNode(int kind, std::initializer_list<const Body*> bodies, const BodyStream& inner);
  CUstream stream_;
  uint64_t handle_ = 0;
};

}  // namespace tenon::backends::cuda
