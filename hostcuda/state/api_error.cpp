// Error state, names and sentences.
#include "table.h"

namespace tenon::hostcuda {
namespace {

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* sentence;
};

#define TENON_ERROR(code, sentence) {code, #code, sentence},
constexpr ErrorText kErrors[] = {
#include "errors.table"
};
#undef TENON_ERROR

const ErrorText* findError(cudaError_t code) {
  for (const ErrorText& text : kErrors) {
    if (text.code == code) return &text;
  }
  return nullptr;
}

}  // namespace

cudaError_t& lastError() noexcept {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

namespace api {
namespace {

cudaError_t cudaGetLastError() {
  const cudaError_t error = lastError();
  lastError() = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() { return lastError(); }

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* text = findError(error);
  return text != nullptr ? text->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* text = findError(error);
  return text != nullptr ? text->sentence : "unrecognized error code";
}

}  // namespace
}  // namespace api

Entries errorEntries() {
  return {TENON_ENTRY(cudaGetLastError), TENON_ENTRY(cudaPeekAtLastError), TENON_ENTRY(cudaGetErrorName),
          TENON_ENTRY(cudaGetErrorString)};
}

}  // namespace tenon::hostcuda
