// What the environment asks of the recording library; see docs/capture.md for the variables.
#pragma once

#include <cstdint>
#include <string>

namespace tenon::capture {

struct Settings {
  std::string outputJson;   // TRT_SHIM_OUTPUT_JSON_FILE; nothing is recorded when it is empty
  std::string libraryName;  // TRT_SHIM_NVINFER_LIB_NAME
  std::string tacticCache;  // TRT_SHIM_SET_TACTIC_CACHE
  bool dumpApi = false;
  bool printWelcome = false;
  bool forceSingleThread = false;
  bool flushAfterEveryCall = false;
  bool flushOnBuild = false;
  bool flushOnDestroy = false;
  int64_t inlineWeights = 8;          // of at most this many elements stand in the JSON
  int64_t randomWeights = INT64_MAX;  // of at least this many elements are not kept

  bool records() const { return !outputJson.empty(); }
  // Whether calls have to be looked at; without it the shim only forwards the entry points.
  bool wraps() const { return records() || dumpApi || forceSingleThread || !tacticCache.empty(); }
};

// Reads the environment; a value that cannot be meant is reported to stderr, and the default stays.
Settings readSettings();
// The settings of the process, read once.
const Settings& settings();

}  // namespace tenon::capture
