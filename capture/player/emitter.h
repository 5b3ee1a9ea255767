// Turns the lines of a capture into the text of a program; emit_cpp.cpp writes calls, emit_objects.cpp what they are
// given.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/method.h"
#include "player/users.h"

namespace tenon::capture {

// The number that stands there; 0 when none does.
inline uint64_t idOf(const Json& value) { return value.is_number_unsigned() ? value.get<uint64_t>() : 0; }

class Emitter {
 public:
  Emitter();
  void lookAhead(const Line& line);  // at all lines, before take() at all lines
  void take(const Line& line);
  std::string text() const;

 private:
  void call(const Line& line, const std::string& name);
  void made(const Json& value, const MethodInfo& method, const std::string& expression, const std::string& kernelText);
  void weights(const Json& value);
  void user(const Json& value);
  void plugin(const Json& value);
  std::string fields(const Json& list) const;
  std::string argument(const Json& value, const ParameterInfo& parameter, int line);
  std::string userArgument(uint64_t id, bool isReference) const;
  std::string object(uint64_t id, bool isReference) const;
  void statement(const std::string& text);
  std::string list(const Json& value, const char* element);

  struct Data {
    uint64_t offset = 0, bytes = 0;
    bool used = false;
  };
  Users users_;
  std::unordered_map<std::string_view, int> methods_;
  std::map<uint64_t, Data> data_;
  std::map<uint64_t, std::string> types_;    // class of each object
  std::map<uint64_t, std::string> weights_;  // expression of each
  std::set<uint64_t> stood_;                 // objects of the application that have one in their place
  std::string globals_, body_;
  std::string before_;  // declarations that the next statement needs
  uint64_t smallest_ = 0;
  int statements_ = 0, parts_ = 0, arrays_ = 0;
  bool hasUsers_ = false, hasAllocators_ = false, hasPlugins_ = false;
};

}  // namespace tenon::capture
