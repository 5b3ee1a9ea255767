// What is thrown where a constant cannot be computed from those that the user gave.
#pragma once

#include "core/error.h"

namespace tenon::graph {

// Told apart from errors of a pass, which are Tenon's own.
class BadConstant : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace tenon::graph
