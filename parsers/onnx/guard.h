// Turns whatever an entry point throws into an entry of its error list: no exception crosses the API.
#pragma once

#include <new>

#include "error.h"

namespace tenon::onnxparser {

// The action's result, or false after an exception.
template <typename Action>
bool guardCall(ErrorList& errors, const Action& action) noexcept {
  try {
    try {
      return action();
    } catch (const ParseError& error) {
      errors.addModelError(error);
    } catch (const std::bad_alloc&) {
      errors.addOutOfMemory();
    } catch (const std::exception& error) {
      errors.addModelError(ErrorCode::kINTERNAL_ERROR, fmt::format("a fault of the parser itself: {}", error.what()));
    }
  } catch (...) {
    errors.addOutOfMemory();  // the record could not be made
  }
  return false;
}

}  // namespace tenon::onnxparser
