// SPDX-License-Identifier: Apache-2.0
// Exceptions of callbacks: which call raises them.
#include "callbacks.h"

#include <pthread.h>

#include "module.h"

namespace tenon::python {

namespace {
thread_local int depthOfThread = 0;
thread_local std::exception_ptr exceptionOfThread;
int callsInProgress = 0;  // both guarded by the interpreter's lock

// Of threads of the library, which no call of Python's runs on.
std::exception_ptr& exceptionOfOthers() {
  static auto* const exception = new std::exception_ptr;  // outlives every thread
  return *exception;
}

// The calls of other threads do not go on in a child.
__attribute__((constructor)) void forgetCallsAfterForks() {
  pthread_atfork(nullptr, nullptr, [] { callsInProgress = depthOfThread; });
}
}  // namespace

bool interpreterRuns() noexcept {
  if (!Py_IsInitialized()) return false;
#if PY_VERSION_HEX >= 0x030D0000
  return !Py_IsFinalizing();
#else
  return !_Py_IsFinalizing();
#endif
}

CallScope::CallScope() : outer_(std::exchange(exceptionOfThread, nullptr)) {
  ++depthOfThread;
  if (callsInProgress++ == 0) exceptionOfOthers() = nullptr;
}

CallScope::~CallScope() {
  --depthOfThread;
  --callsInProgress;
  exceptionOfThread = std::move(outer_);
}

std::exception_ptr CallScope::takeException() {
  if (exceptionOfThread) return std::exchange(exceptionOfThread, nullptr);
  return std::exchange(exceptionOfOthers(), nullptr);
}

void keepException(const char* where) noexcept {
  try {
    if (depthOfThread > 0 && !exceptionOfThread) {
      exceptionOfThread = std::current_exception();
      return;
    }
    if (depthOfThread == 0 && callsInProgress > 0 && !exceptionOfOthers()) {
      exceptionOfOthers() = std::current_exception();
      return;
    }
    throw;  // the one that is handled: nothing else of it is kept
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable(where);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
    PyErr_WriteUnraisable(py::str(where).ptr());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown exception");
    PyErr_WriteUnraisable(py::str(where).ptr());
  }
}

}  // namespace tenon::python
