// Which implementation of a library a kernel runs, where the library has several for one problem.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenon::runtime {

// The other face of an instance whose configure() chooses an implementation; asked for by dynamic_cast. What was chosen
// when the engine was built stands in the kernel's record as its params, and is wanted wherever the plan is loaded.
class Chosen {
 public:
  virtual ~Chosen() = default;
  // Of the last configure(); the library's own name for it. Empty where nothing is computed.
  virtual std::string_view implementation() const = 0;
  // Whether it is the library's plain code for whatever else it has nothing for: many times slower.
  virtual bool isPlain() const = 0;
  // Calls of the library that threads share.
  virtual size_t callCount() const { return 1; }
};

}  // namespace tenon::runtime
