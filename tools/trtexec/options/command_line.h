// Turns the arguments of the process into options, with every problem found on the way.
#pragma once

#include "options.h"

#include <string>
#include <string_view>
#include <vector>

namespace tenon::trtexec {

//! What --help and --version print in place of a run.
enum class Page { kNone, kHelp, kVersion, kMarkdown, kMan, kBash, kZsh, kFish };

struct CommandLine {
  Options options;
  //! One line per problem; the command line is good when there is none.
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  Page page = Page::kNone;
};

//! `arguments` without the program's name.
CommandLine readCommandLine(const std::vector<std::string>& arguments);

// The pages, all made from the flag table. `version` is the line of --version.
std::string helpText();
//! The tables of docs/trtexec.md.
std::string flagTableMarkdown();
//! In roff, for man(1).
std::string manPage(std::string_view version);
std::string bashCompletion();
std::string zshCompletion();
std::string fishCompletion();

}  // namespace tenon::trtexec
