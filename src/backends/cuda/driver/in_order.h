// Launches of a vendor's library in order between our own, which may begin before what is in front of them has ended.
#pragma once

#include <cuda.h>

#include <vector>

namespace tenon::backends::cuda {

// cuDNN launches kernels so that they may begin while the kernel in front of them runs (programmatic dependent launch).
// Beside other programs on an H200, engines of convolutions of volumes were wrong in a fifth of their first executions
// then, and never without it: at least one of these kernels does not wait for all that it reads. So what such a library
// launches first waits until all in front of it has ended: in a graph that is captured by a plain dependency, otherwise
// behind zeros that are written in between.
class InOrder {
 public:
  // In front of the launches on `stream`.
  explicit InOrder(void* stream);
  // Behind them, on the same thread. Throws Error.
  void end();

 private:
  CUgraph graph_ = nullptr;  // that is captured
  std::vector<CUgraphNode> front_;
};

}  // namespace tenon::backends::cuda
