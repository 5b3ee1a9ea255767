// Reads the environment variables of the recording library.
#include "shim/settings.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tenon::capture {
namespace {

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

void readText(const char* name, std::string& target) {
  if (const char* value = variable(name)) {
    target = value;
  }
}

void readSwitch(const char* name, bool& target) {
  const char* value = variable(name);
  if (value == nullptr) {
    return;
  }
  const std::string_view text = value;
  if (text == "1" || text == "true" || text == "TRUE" || text == "on" || text == "ON") {
    target = true;
  } else if (text == "0" || text == "false" || text == "FALSE" || text == "off" || text == "OFF") {
    target = false;
  } else {
    std::fprintf(stderr, "[tensorrt_shim] %s is '%s': expected 0 or 1; it stays %d\n", name, value, target ? 1 : 0);
  }
}

void readCount(const char* name, int64_t& target) {
  const char* value = variable(name);
  if (value == nullptr) {
    return;
  }
  char* end = nullptr;
  errno = 0;
  const long long number = std::strtoll(value, &end, 10);
  if (errno != 0 || *end != '\0' || number < 0) {
    std::fprintf(stderr, "[tensorrt_shim] %s is '%s': expected a number of elements, at least 0; it stays %lld\n", name,
                 value, static_cast<long long>(target));
    return;
  }
  target = number;
}

}  // namespace

Settings readSettings() {
  Settings result;
  readText("TRT_SHIM_OUTPUT_JSON_FILE", result.outputJson);
  readText("TRT_SHIM_NVINFER_LIB_NAME", result.libraryName);
  readText("TRT_SHIM_SET_TACTIC_CACHE", result.tacticCache);
  readSwitch("TRT_SHIM_DUMP_API", result.dumpApi);
  readSwitch("TRT_SHIM_PRINT_WELCOME", result.printWelcome);
  readSwitch("TRT_SHIM_FORCE_SINGLE_THREAD_API", result.forceSingleThread);
  readSwitch("TRT_SHIM_FLUSH_AFTER_EVERY_CALL", result.flushAfterEveryCall);
  readSwitch("TRT_SHIM_FLUSH_ON_BUILD", result.flushOnBuild);
  readSwitch("TRT_SHIM_FLUSH_ON_DESTROY", result.flushOnDestroy);
  readCount("TRT_SHIM_INLINE_WEIGHTS_LOWER_EQUAL_THAN", result.inlineWeights);
  readCount("TRT_SHIM_MARK_AS_RANDOM_WEIGHTS_GREATER_EQUAL_THAN", result.randomWeights);
  return result;
}

const Settings& settings() {
  static const Settings& kSettings = *new Settings(readSettings());  // objects are deleted after exit handlers too
  return kSettings;
}

}  // namespace tenon::capture
