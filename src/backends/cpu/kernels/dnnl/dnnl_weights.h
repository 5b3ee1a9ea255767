// Weights in the layout that a primitive wants, packed once per engine and shared by its contexts.
#pragma once

#include <dnnl.hpp>

#include <mutex>
#include <optional>
#include <vector>

namespace tenon::backends::cpu {

// Thread-safe. Different shapes may want different layouts; each is packed when it is first asked for.
class PackedWeights {
 public:
  // Without data, memory of the layout has no bytes: enough to ask a primitive what it needs.
  PackedWeights(const dnnl::memory::desc& plain, const void* data) : plain_(plain), data_(data) {}
  dnnl::memory get(const dnnl::memory::desc& wanted);

  // Whether a packed copy is all that anybody was given, so that the data may go: further layouts are made of the copy
  // then.
  bool holdsAll();
  void release();
  void restore(void* to);  // the data again

 private:
  static void reorder(dnnl::memory from, dnnl::memory to);
  dnnl::memory::desc plain_;
  const void* data_;
  bool isLent_ = false;      // the data itself was given to a primitive
  bool isReleased_ = false;  // the data is gone
  std::mutex mutex_;
  std::vector<dnnl::memory> packed_;
};

// The part of packed weights from `first` on along the first axis, described by `part`; nothing where the two layouts
// do not fit, so that the part would have to be packed on its own.
std::optional<dnnl::memory> partOf(const dnnl::memory& whole, const dnnl::memory::desc& part, int64_t first);

}  // namespace tenon::backends::cpu
