// Turns the arguments of the process into options, with every problem found on the way.
#pragma once

#include "options.h"

#include <string>
#include <vector>

namespace tenon::trtexec {

struct CommandLine {
  Options options;
  //! One line per problem; the command line is good when there is none.
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  bool help = false;
  //! --help=markdown: the table of all flags instead of the help text.
  bool markdown = false;
};

//! `arguments` without the program's name.
CommandLine readCommandLine(const std::vector<std::string>& arguments);

//! The help text, or the table of docs/trtexec.md.
std::string helpText();
std::string flagTableMarkdown();

} // namespace tenon::trtexec
