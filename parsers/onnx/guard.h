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
      errors.addModelError(ErrorCode::kMEM_ALLOC_FAILED, "out of memory");
    } catch (const std::exception& error) {
      errors.addModelError(ErrorCode::kINTERNAL_ERROR, fmt::format("a fault of the parser itself: {}", error.what()));
    }
  } catch (...) {
    // Even the record could not be made; the result alone has to say it.
  }
  return false;
}

}  // namespace tenon::onnxparser
