// One run of the tool, from options to report.
#pragma once

#include "../options/options.h"

namespace tenon::trtexec {

//! Throws a Failure when the run cannot be completed.
void runSession(const Options& options);

}  // namespace tenon::trtexec
