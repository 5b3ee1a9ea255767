// Weights in the layout that a primitive wants, packed once per engine and shared by its contexts.
#pragma once

#include <dnnl.hpp>

#include <mutex>
#include <vector>

namespace tenon::backends::cpu {

// Thread-safe. Different shapes may want different layouts; each is packed when it is first asked for.
class PackedWeights {
 public:
  // Without data, memory of the layout has no bytes: enough to ask a primitive what it needs.
  PackedWeights(const dnnl::memory::desc& plain, const void* data) : plain_(plain), data_(data) {}
  dnnl::memory get(const dnnl::memory::desc& wanted);

 private:
  dnnl::memory::desc plain_;
  const void* data_;
  std::mutex mutex_;
  std::vector<dnnl::memory> packed_;
};

}  // namespace tenon::backends::cpu
