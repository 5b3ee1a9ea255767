// Checks that standard output was written: on a full disk or a closed stream it does not, and the run has failed.
#pragma once

#include <string>
#include <string_view>

namespace tenon::tools {

//! Before any file is opened: lets none of them take the place of a closed standard stream, and makes each line of the
//! standard output appear when it is written.
void prepareStandardStreams();

//! Prints. One thread at a time.
void print(std::string_view text);

//! Writes out what is buffered. Empty when all that was printed so far has arrived, else the reason.
std::string outputProblem();

}  // namespace tenon::tools
