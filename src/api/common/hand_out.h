// Objects that belong to the caller.
#pragma once

#include <memory>
#include <utility>

namespace tenon::api {

// A new T as its interface I; the caller deletes it. Within a guard: it throws.
template <typename I, typename T, typename... Arguments>
I* handOut(Arguments&&... arguments) {
  return std::make_unique<T>(std::forward<Arguments>(arguments)...).release();
}

}  // namespace tenon::api
