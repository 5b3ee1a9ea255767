// The error of an expression that has grown too long, for those who can do without it.
#pragma once

#include "core/error.h"

namespace tenon {

class ExtentTooLong final : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace tenon
