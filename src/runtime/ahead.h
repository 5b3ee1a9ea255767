// What loading kernels will wait for, begun before it.
#pragma once

#include <functional>
#include <span>

#include "plan/program.h"

namespace tenon::runtime {

// The other face of a backend whose kernels need what takes long to open; asked for by dynamic_cast.
class Ahead {
 public:
  virtual ~Ahead() = default;
  // Asked when an engine begins to load, with the kernels of its steps. Pieces for threads of their own, beside the
  // loading; none where there is nothing to wait for. What goes wrong in them, loading will say.
  virtual std::vector<std::function<void()>> ahead(std::span<const plan::KernelRecord* const> records) = 0;
};

}  // namespace tenon::runtime
