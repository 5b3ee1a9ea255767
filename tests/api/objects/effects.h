// What setters change: each call is followed by a look at the engine, the log, or the page of what changes nothing.
#pragma once

#include "scenes.h"

namespace setters {

// What came of a network: the engine's bytes, with all that the log said loudly.
struct Outcome {
  std::string plan;  // empty: none was built
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

// At level 0, where equal networks give equal bytes; details of layers are in them.
inline Outcome outcomeOf(Scene& scene) {
  scene.config->setBuilderOptimizationLevel(0);
  scene.config->setProfilingVerbosity(nv::ProfilingVerbosity::kDETAILED);
  const std::unique_ptr<nv::IHostMemory> plan(scene.builder->buildSerializedNetwork(*scene.network, *scene.config));
  Outcome result;
  if (plan != nullptr) result.plan.assign(static_cast<const char*>(plan->data()), plan->size());
  result.errors = scene.log.errors;
  result.warnings = scene.log.warnings;
  return result;
}

inline bool anyStarts(const std::vector<std::string>& lines, const std::string& start) {
  return std::any_of(lines.begin(), lines.end(), [&](const auto& line) { return line.rfind(start, 0) == 0; });
}

// Whether docs/status.md says what the option does not change.
inline bool isOnThePage(const std::string& option) {
  static const std::string kPage = [] {
    std::ifstream file(TENON_STATUS_PAGE);
    return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }();
  return kPage.find("- `" + option + "`: ") != std::string::npos;
}

// Calls the setter on a fresh scene, and builds.
template <typename Object, typename Result, typename... Parameters, typename... Arguments>
Outcome after(Result (Object::*setter)(Parameters...) noexcept, Object* (*make)(Scene&),
              const Arguments&... arguments) {
  Scene scene;
  Object* object = make(scene);
  EXPECT_NE(object, nullptr);
  if (object != nullptr) (object->*setter)(arguments...);
  return outcomeOf(scene);
}

// The engine is another one, and nobody complains.
template <typename Object, typename Result, typename... Parameters, typename... Arguments>
void changes(const char* name, Result (Object::*setter)(Parameters...) noexcept, Object* (*make)(Scene&),
             const Arguments&... arguments) {
  Scene plain;
  make(plain);
  const auto before = outcomeOf(plain);
  const auto now = after(setter, make, arguments...);
  const std::vector<std::string> none;
  EXPECT_EQ(now.errors, none) << name;
  EXPECT_EQ(now.warnings, none) << name;
  EXPECT_FALSE(before.plan.empty()) << name;
  EXPECT_FALSE(now.plan.empty()) << name;
  EXPECT_TRUE(now.plan != before.plan) << name << " changed nothing";
}

// There is no engine, or the call itself is refused, and the error names what.
template <typename Object, typename Result, typename... Parameters, typename... Arguments>
void refused(const char* name, Result (Object::*setter)(Parameters...) noexcept, Object* (*make)(Scene&),
             const std::string& text, const Arguments&... arguments) {
  const auto now = after(setter, make, arguments...);
  EXPECT_EQ(now.errors.size(), 1U) << name;
  if (!now.errors.empty()) {
    EXPECT_NE(now.errors[0].find(text), std::string::npos) << name << ": " << now.errors[0];
  }
}

// One line of the log says what is not changed, and so does the page; the engine is the same.
template <typename Object, typename Result, typename... Parameters, typename... Arguments>
void idle(const char* name, Result (Object::*setter)(Parameters...) noexcept, Object* (*make)(Scene&),
          const std::string& option, const Arguments&... arguments) {
  Scene plain;
  make(plain);
  const auto before = outcomeOf(plain);
  const auto now = after(setter, make, arguments...);
  EXPECT_EQ(now.errors, std::vector<std::string>{}) << name;
  EXPECT_EQ(now.warnings.size(), 1U) << name << ": " << fmt::format("{}", fmt::join(now.warnings, "; "));
  EXPECT_TRUE(anyStarts(now.warnings, option + ": ")) << name;
  EXPECT_TRUE(isOnThePage(option)) << name;
  EXPECT_FALSE(now.plan.empty()) << name;
  EXPECT_TRUE(now.plan == before.plan) << name;
}

// A test elsewhere that shows it: the file calls the function.
inline void shownBy(const std::string& function, const std::string& file) {
  std::ifstream text(std::string(TENON_TESTS_FOLDER) + "/" + file);
  ASSERT_TRUE(text.is_open()) << file;
  const std::string all{std::istreambuf_iterator<char>(text), std::istreambuf_iterator<char>()};
  EXPECT_NE(all.find(function + "("), std::string::npos) << file << " does not call " << function;
}

#define CHANGES(Class, setter, make, ...) \
  changes<nv::Class>(#Class "::" #setter, &nv::Class::setter, make __VA_OPT__(, ) __VA_ARGS__)
#define REFUSED(Class, setter, make, text, ...) \
  refused<nv::Class>(#Class "::" #setter, &nv::Class::setter, make, text __VA_OPT__(, ) __VA_ARGS__)
#define IDLE(Class, setter, make, option, ...) \
  idle<nv::Class>(#Class "::" #setter, &nv::Class::setter, make, option __VA_OPT__(, ) __VA_ARGS__)
#define SHOWN_BY(Class, setter, file) shownBy(#setter, file)
// The lines that follow show it.
#define SEEN(Class, setter) static_cast<void>(&nv::Class::setter)

}  // namespace setters
