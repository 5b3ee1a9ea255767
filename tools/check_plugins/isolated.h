// SPDX-License-Identifier: Apache-2.0
// A check in a process of its own, so that a crash is a finding and not the end.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace tenon::check {

struct Outcome {
  enum class Kind { kGood, kWrong, kSkipped } kind = Kind::kGood;
  std::string text;  // what is wrong, or why it was not tried
};

// Thrown by a check that does not apply.
class Skipped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Outcome isolated(const std::function<void()>& check, unsigned seconds);

}  // namespace tenon::check
