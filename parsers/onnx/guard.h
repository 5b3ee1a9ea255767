// Turns whatever an entry point throws into an entry of its error list: no exception crosses the API.
#pragma once

#include <new>

#include "error_list.h"

namespace tenon::parsers::onnx {

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
      errors.addModelError(FaultKind::kInternal, fmt::format("internal error of the parser: {}", error.what()));
    }
  } catch (...) {
    errors.addOutOfMemory();  // the record could not be made
  }
  return false;
}

}  // namespace tenon::parsers::onnx
