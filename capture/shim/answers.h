// Lines of what the application's own objects answered: {"u": object, "f": function, "a": arguments, "r": answer}.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "shim/recorder.h"
#include "shim/settings.h"
#include "shim/text.h"

namespace tenon::capture {

// One line; the arguments come as JSON text. Callbacks come from any thread.
inline void recordAnswer(uint64_t user, std::string_view function, const std::string& arguments,
                         const std::string& answer) {
  if (!settings().records() && !settings().dumpApi) {
    return;
  }
  std::lock_guard lock(Recorder::instance().order());
  std::string line =
      "{\"u\":" + std::to_string(user) + ",\"f\":\"" + std::string(function) + "\",\"a\":[" + arguments + "]";
  if (!answer.empty()) {
    line += ",\"r\":" + answer;
  }
  Recorder::instance().append(line + "}");
}

inline std::string quoted(const char* value) {
  std::string out;
  text::appendString(out, value);
  return out;
}

}  // namespace tenon::capture
