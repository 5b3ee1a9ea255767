// The exception that parsers throw inside. No exception crosses the API: each entry point catches and reports it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace tenon::parsers {

// What is wrong, in the terms that formats share. Each parser maps it to the error codes of its own interface.
enum class FaultKind : uint8_t {
  kInternal,
  kOutOfMemory,
  kUnreadableModel,
  kInvalidValue,
  kInvalidGraph,
  kInvalidNode,
  kUnsupportedGraph,
  kUnsupportedNode,
  kUnsupportedAttribute,
  kUnsupportedInput,
  kUnsupportedType,
  kUnsupportedDynamic,
  kUnsupportedShape,
  kRefit,
};

// The place in the parser's source that found the fault.
struct Where {
  const char* file = "";
  int line = 0;
  const char* function = "";
};

// Thrown by everything below the entry points; caught once per node (to collect all faults of a graph) and once per
// call.
class ParseError : public std::runtime_error {
 public:
  ParseError(FaultKind kind, const std::string& reason, Where where)
      : std::runtime_error(reason), kind_(kind), where_(where) {}
  FaultKind kind() const { return kind_; }
  const Where& where() const { return where_; }

 private:
  FaultKind kind_;
  Where where_;
};

[[noreturn]] inline void fail(FaultKind kind, const std::string& reason, const char* file = __builtin_FILE(),
                              int line = __builtin_LINE(), const char* function = __builtin_FUNCTION()) {
  throw ParseError(kind, reason, Where{file, line, function});
}

}  // namespace tenon::parsers
