// Prints the flag table: as help text in trtexec's grouping, and as the tables of docs/trtexec.md.
#include "command_line.h"
#include "flag.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace tenon::trtexec {

namespace {

constexpr size_t kColumn = 38;
constexpr size_t kWidth = 120;

//! Breaks the text at spaces and puts all but the first line under the column.
std::string wrapped(std::string_view text) {
  std::string out;
  size_t used = kColumn;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (used > kColumn && used + 1 + end > kWidth) {
      out += '\n' + std::string(kColumn, ' ');
      used = kColumn;
    } else if (used > kColumn) {
      out += ' ';
      ++used;
    }
    out += text.substr(0, end);
    used += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '|' ? "\\|" : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string helpText() {
  std::string out =
      "Usage: trtexec --onnx=<file> [flags] | trtexec --loadEngine=<file> [flags]\n\n"
      "Builds an engine from an ONNX model, or loads one, and measures inference.\n"
      "Lists are separated by commas. Single quotes around a name keep its colons and commas together.\n";
  for (const auto& [group, title] : flagGroups()) {
    fmt::format_to(std::back_inserter(out), "\n=== {} ===\n", title);
    for (const Flag& flag : flagTable()) {
      if (flag.group != group || !flag.works()) {
        continue;
      }
      std::string head = fmt::format("  {}{}", flag.name, flag.argument);
      head += head.size() < kColumn ? std::string(kColumn - head.size(), ' ') : '\n' + std::string(kColumn, ' ');
      out += head + wrapped(describe(flag)) + '\n';
    }
  }
  out += "\n=== Flags of TensorRT that Tenon refuses by name ===\n ";
  size_t used = 1;
  for (const Flag& flag : flagTable()) {
    if (flag.status != FlagStatus::kRefused) {
      continue;
    }
    if (used + 1 + flag.name.size() > kWidth) {
      out += "\n ";
      used = 1;
    }
    out += ' ' + std::string(flag.name);
    used += 1 + flag.name.size();
  }
  return out + '\n';
}

std::string flagTableMarkdown() {
  std::string out;
  const auto table = [&out](std::string_view title, auto&& accepted) {
    fmt::format_to(std::back_inserter(out), "### {}\n\n| Flag | Argument | |\n| --- | --- | --- |\n", title);
    for (const Flag& flag : flagTable()) {
      if (accepted(flag)) {
        const std::string argument = flag.takesValue() ? fmt::format("`{}`", escaped(flag.argument)) : "";
        fmt::format_to(std::back_inserter(out), "| `{}` | {} | {} |\n", flag.name, argument, escaped(describe(flag)));
      }
    }
    out += '\n';
  };
  for (const auto& [group, title] : flagGroups()) {
    table(title, [group = group](const Flag& flag) { return flag.group == group && flag.works(); });
  }
  table("Known and refused by name", [](const Flag& flag) { return flag.status == FlagStatus::kRefused; });
  table("Flags of older releases",
        [](const Flag& flag) { return flag.status == FlagStatus::kRemoved || flag.status == FlagStatus::kNoEffect; });
  out.pop_back();
  return out;
}

}  // namespace tenon::trtexec
