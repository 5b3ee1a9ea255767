// A variable of the environment for the length of a scope.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace tenon::test {

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Variable() {
    if (before_) setenv(name_, before_->c_str(), 1);
    else unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// The first seed of random regions, and how many there are.
inline std::pair<int, int> randomSeeds() {
  const auto number = [](const char* name, int otherwise) {
    const char* const wanted = std::getenv(name);
    return wanted != nullptr ? std::atoi(wanted) : otherwise;
  };
  return {number("TENON_RANDOM_FIRST", 1), number("TENON_RANDOM_REGIONS", 40)};
}

}  // namespace tenon::test
