// Completions for shells, made from the flag table: names of flags, and values that are files, folders or one of some
// words.
#include "command_line.h"
#include "flag.h"
#include "values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <map>

namespace tenon::trtexec {

namespace {

enum class ValueKind { kNone, kFile, kFolder, kWords, kOther };

ValueKind kindOf(const Flag& flag) {
  if (!flag.takesValue()) {
    return ValueKind::kNone;
  }
  if (flag.argument == "=<file>" || flag.argument == "=<folder>") {
    return flag.argument == "=<file>" ? ValueKind::kFile : ValueKind::kFolder;
  }
  return flag.argument.find_first_of("<[(") == std::string_view::npos ? ValueKind::kWords : ValueKind::kOther;
}

//! "enable disable" of "=enable|disable".
std::string wordsOf(const Flag& flag) {
  return fmt::format("{}", fmt::join(splitList(flag.argument.substr(1), '|'), " "));
}

//! Whether the flag is offered: what is old is not.
bool isOffered(const Flag& flag) { return flag.status == FlagStatus::kSupported; }

std::string escaped(std::string_view text, std::string_view special, std::string_view escape) {
  std::string out;
  for (const char c : text) {
    out += special.find(c) == std::string_view::npos ? std::string(1, c) : fmt::format("{}{}", escape, c);
  }
  return out;
}

//! Within single quotes of a shell like sh.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return "'" + out + "'";
}

constexpr std::string_view kBashBegin = R"(# bash completion of trtexec
_trtexec() {
  # An equals sign is a word of its own unless COMP_WORDBREAKS was changed.
  local current=${COMP_WORDS[COMP_CWORD]} flag='' typed='' before=''
  if [[ $current == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD-1]}
  elif ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[COMP_CWORD-1]} == = ]]; then
    flag=${COMP_WORDS[COMP_CWORD-2]} typed=$current
  elif [[ $current == -*=* ]]; then
    flag=${current%%=*} typed=${current#*=} before=${current%%=*}=
  fi
  COMPREPLY=()
  case $flag in
)";

constexpr std::string_view kBashEnd = R"(  esac
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -F _trtexec trtexec
)";

}  // namespace

std::string bashCompletion() {
  std::string names;
  std::string files;
  std::string folders;
  std::string cases;
  const auto reply = [](std::string_view compgen) {
    return fmt::format("mapfile -t COMPREPLY < <(compgen {} -P \"$before\" -- \"$typed\")", compgen);
  };
  for (const Flag& flag : flagTable()) {
    if (!isOffered(flag)) {
      continue;
    }
    fmt::format_to(std::back_inserter(names), "{}{}{}", names.empty() ? "" : " ", flag.name,
                   flag.takesValue() && flag.group != FlagGroup::kHelp ? "=" : "");
    switch (kindOf(flag)) {
      case ValueKind::kFile:
        fmt::format_to(std::back_inserter(files), "{}{}", files.empty() ? "" : " | ", flag.name);
        break;
      case ValueKind::kFolder:
        fmt::format_to(std::back_inserter(folders), "{}{}", folders.empty() ? "" : " | ", flag.name);
        break;
      case ValueKind::kWords:
        fmt::format_to(std::back_inserter(cases), "    {}) {} ;;\n", flag.name,
                       reply(fmt::format("-W '{}'", wordsOf(flag))));
        break;
      case ValueKind::kNone:
      case ValueKind::kOther: break;
    }
  }
  return fmt::format(
      "{}    '') mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\") ;;\n"
      "    {})\n      compopt -o filenames 2>/dev/null\n      {} ;;\n"
      "    {})\n      compopt -o filenames 2>/dev/null\n      {} ;;\n{}{}",
      kBashBegin, names, files, reply("-f"), folders, reply("-d"), cases, kBashEnd);
}

std::string zshCompletion() {
  const std::map<ValueKind, std::string_view> actions{
      {ValueKind::kFile, "file:_files"}, {ValueKind::kFolder, "folder:_files -/"}, {ValueKind::kOther, "value: "}};
  std::string out = "#compdef trtexec\n# zsh completion of trtexec\n_arguments";
  for (const Flag& flag : flagTable()) {
    if (!isOffered(flag)) {
      continue;
    }
    const ValueKind kind = kindOf(flag);
    const std::string action = kind == ValueKind::kNone    ? ""
                               : kind == ValueKind::kWords ? fmt::format(":value:({})", wordsOf(flag))
                                                           : fmt::format(":{}", actions.at(kind));
    // =- says that the value follows the equals sign in the same word; --help may also stand alone.
    const std::string_view joint = kind == ValueKind::kNone || flag.group == FlagGroup::kHelp ? "" : "=-";
    const std::string text = escaped(flag.text, "[]:\\", "\\");
    fmt::format_to(
        std::back_inserter(out), " \\\n  {}",
        quoted(fmt::format("*{}{}[{}]{}", flag.name, joint, text, flag.group == FlagGroup::kHelp ? "" : action)));
  }
  return out + '\n';
}

std::string fishCompletion() {
  std::string out = "# fish completion of trtexec\ncomplete -c trtexec -f\n";
  for (const Flag& flag : flagTable()) {
    if (!isOffered(flag)) {
      continue;
    }
    const ValueKind kind = kindOf(flag);
    const bool isShort = flag.name.substr(0, 2) != "--";
    std::string value;
    if (flag.group != FlagGroup::kHelp && kind != ValueKind::kNone) {
      value = kind == ValueKind::kFile     ? " -r -F"
              : kind == ValueKind::kFolder ? " -x -a '(__fish_complete_directories)'"
              : kind == ValueKind::kWords  ? fmt::format(" -x -a '{}'", wordsOf(flag))
                                           : " -x";
    }
    fmt::format_to(std::back_inserter(out), "complete -c trtexec {} {}{} -d '{}'\n", isShort ? "-s" : "-l",
                   flag.name.substr(isShort ? 1 : 2), value, escaped(flag.text, "'\\", "\\"));
  }
  return out;
}

}  // namespace tenon::trtexec
