// What the runtime's tests share: a log that keeps errors, engines from plans, contexts with buffers.
#pragma once

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/context.h"
#include "support/hand_plan.h"

namespace tenon::runtime {

class KeptLog final : public Log {
 public:
  void write(Severity severity, const char* message) noexcept override {
    const std::lock_guard lock(mutex_);
    if (severity <= Severity::kError) errors_ += std::string(message) + "\n";
  }
  std::string errors() {
    const std::lock_guard lock(mutex_);
    return errors_;
  }

 private:
  std::mutex mutex_;
  std::string errors_;
};

inline KeptLog& log() {
  static KeptLog log;
  return log;
}

inline std::shared_ptr<const Engine> engineOf(const plan::Plan& plan) { return Engine::make(plan, {}, log()); }

// The message of the UserError that `call` throws.
template <typename Call>
std::string messageOf(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected a UserError";
  return {};
}

inline void expectContains(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts)
    EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
}

inline void finishWork(const Engine& engine, StreamHandle stream = nullptr) { engine.device().synchronize(stream); }

// What test::smallPlan computes.
inline std::vector<float> smallExpected(const std::vector<float>& x) {
  const float c[3] = {1, -2, 3};
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); ++i) y.push_back(2 * std::max(0.f, x[i] + c[i % 3]));
  return y;
}

inline std::vector<float> ramp(size_t count, float start = -3) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = start + 0.5f * static_cast<float>(i);
  return values;
}

}  // namespace tenon::runtime
