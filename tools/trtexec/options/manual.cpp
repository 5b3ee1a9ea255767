// The manual page, made from the flag table.
#include "command_line.h"
#include "flag.h"

#include <fmt/format.h>

#include <cctype>
#include <iterator>

namespace tenon::trtexec {

namespace {

//! Text that roff prints as it is: minus signs that can be copied, and no line that begins with a request.
std::string roff(std::string_view text) {
  std::string out = text.empty() || (text[0] != '.' && text[0] != '\'') ? "" : "\\&";
  for (const char c : text) {
    out += c == '-' ? "\\-" : c == '\\' ? "\\e" : c == '\'' ? "\\(aq" : std::string(1, c);
  }
  return out;
}

std::string upperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return upper;
}

constexpr std::string_view kBegin = R"(.SH NAME
trtexec \- builds inference engines from ONNX models and measures them
.SH SYNOPSIS
.B trtexec
.BI \-\-onnx= file
.RI [ flags ]
.br
.B trtexec
.BI \-\-loadEngine= file
.RI [ flags ]
.SH DESCRIPTION
Builds an engine from an ONNX model, or loads one, runs it and reports its times.
A flag and its value are one word, with an equals sign between.
Lists are separated by commas.
Single quotes around a name keep its colons and commas together.
.PP
Where no GPU answers, everything is computed on the processor.
)";

constexpr std::string_view kEnd = R"(.SH EXIT STATUS
.TP
.B 0
All went well, and all that was asked for is written.
.TP
.B 1
Something failed; the last error message says what.
.TP
.BR 129 ", " 130 ", " 143
The build was ended by SIGHUP, SIGINT (Ctrl\-C) or SIGTERM. The timing cache is kept, and no engine is written.
.SH ENVIRONMENT
.TP
.B TENON_DEVICE
.B cpu
or
.BR cuda :
the device to use; without it, a GPU where one answers.
.TP
.B TENON_THREADS
The number of threads that compute on the processor.
)";

}  // namespace

std::string manPage(std::string_view version) {
  std::string out = fmt::format(".TH TRTEXEC 1 \"\" \"{}\" \"Tenon\"\n{}", roff(version), kBegin);
  for (const auto& [group, title] : flagGroups()) {
    fmt::format_to(std::back_inserter(out), ".SH {}\n", upperCase(title));
    for (const Flag& flag : flagTable()) {
      if (flag.group == group && flag.works()) {
        fmt::format_to(std::back_inserter(out), ".TP\n\\fB{}\\fR{}\n{}\n", roff(flag.name), roff(flag.argument),
                       roff(describe(flag)));
      }
    }
  }
  return out.append(kEnd);
}

}  // namespace tenon::trtexec
