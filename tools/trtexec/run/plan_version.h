// Tells from the first bytes of an engine file which version wrote it.
#pragma once

#include <string>

namespace tenon::trtexec {

//! Logs the version; throws a Failure when the file is no engine.
void printPlanVersion(const std::string& path);

}  // namespace tenon::trtexec
