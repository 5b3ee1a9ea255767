// Calls of oneDNN that are laid out for launches: one problem is one call, or several over slices of its operands.
#pragma once

#include <dnnl.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace tenon::backends::cpu {

// A primitive with its arguments: memory objects are made once, their addresses set per launch. Runs on one thread.
class DnnlCall {
 public:
  // Made where a DnnlScope lives.
  explicit DnnlCall(dnnl::primitive primitive) : primitive_(std::move(primitive)) {}
  // An operand whose address is known at launch: `slot` names it, and what it is lies `offset` bytes behind.
  void bind(int argument, const dnnl::memory::desc& desc, int slot, int64_t offset = 0);
  // An operand that stays where it is.
  void fix(int argument, const dnnl::memory& memory);
  // Memory for the time of the call.
  void bindScratch(const dnnl::memory::desc& desc);
  // What is done behind the primitive with the same slots.
  void then(std::function<void(void* const* slots)> finish) { finish_ = std::move(finish); }
  size_t scratchBytes() const noexcept { return scratchBytes_; }
  void run(void* const* slots, void* scratch);

 private:
  struct Place {
    dnnl::memory memory;
    int slot;
    int64_t offset;
    void* last;  // address that is set
  };
  void add(int argument, const dnnl::memory& memory);
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> held_;
  std::vector<dnnl_exec_arg_t> arguments_;
  std::vector<Place> places_;
  std::function<void(void* const*)> finish_;
  size_t scratchBytes_ = 0;
};

// The calls of one problem, which write different parts of its result. There are as many on any number of threads, so
// that results and plans do not depend on that.
class DnnlCalls {
 public:
  void clear() { calls_.clear(); }
  size_t size() const { return calls_.size(); }
  DnnlCall& add(dnnl::primitive primitive) { return calls_.emplace_back(std::move(primitive)); }
  // Bytes that run() wants, for each thread that it may use.
  size_t workspaceBytes() const;
  void run(void* const* slots, void* workspace);

 private:
  size_t scratchBytes() const;
  std::vector<DnnlCall> calls_;
};

}  // namespace tenon::backends::cpu
