// SPDX-License-Identifier: Apache-2.0
// Calls into Python from the library, from any thread, and what becomes of exceptions there.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <type_traits>
#include <utility>

namespace tenon::python {

// Whether the interpreter can still be called: not before its start, nor once it ends.
bool interpreterRuns() noexcept;

// Keeps the exception in flight for the long call that is running on this thread, or on another; where there is none,
// it goes to sys.unraisablehook. With the lock held, inside a catch clause.
void keepException(const char* where) noexcept;

// One call of the library during which Python's other threads run. What callbacks raised meanwhile is raised at its
// end.
class CallScope {
 public:
  CallScope();
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  std::exception_ptr takeException();

 private:
  std::exception_ptr outer_;  // of a call that this one runs inside of
};

template <class F>
auto longCall(F&& function) -> decltype(function()) {
  using Result = decltype(function());
  CallScope scope;
  if constexpr (std::is_void_v<Result>) {
    {
      const pybind11::gil_scoped_release released;
      function();
    }
    if (const auto exception = scope.takeException()) std::rethrow_exception(exception);
  } else {
    Result result = [&] {
      const pybind11::gil_scoped_release released;
      return function();
    }();
    if (const auto exception = scope.takeException()) {
      if constexpr (std::is_pointer_v<Result>) delete result;
      std::rethrow_exception(exception);
    }
    return result;
  }
}

// Calls `function` with the lock held; what it throws is kept, and `fallback` is the answer.
template <class R, class F>
R fromLibrary(const char* where, R fallback, F&& function) noexcept {
  if (!interpreterRuns()) return fallback;
  const pybind11::gil_scoped_acquire lock;
  try {
    return function();
  } catch (...) {
    keepException(where);
    return fallback;
  }
}

template <class F>
void fromLibrary(const char* where, F&& function) noexcept {
  fromLibrary(where, 0, [&] {
    function();
    return 0;
  });
}

// The function of this name of the class in Python behind `self`; a TypeError says what it must define.
template <class T>
pybind11::function definedIn(const T* self, const char* name) {
  pybind11::function found = pybind11::get_override(self, name);
  if (found) return found;
  const pybind11::handle object = pybind11::detail::get_object_handle(self, pybind11::detail::get_type_info(typeid(T)));
  const std::string type = object ? pybind11::cast<std::string>(pybind11::type::handle_of(object).attr("__name__"))
                                  : "an object that is gone";
  throw pybind11::type_error(type + " does not define " + name + "(), which the library calls");
}

}  // namespace tenon::python
