// The flag table: one row per flag of trtexec 10.16 says its name, form, group, meaning and what this build does with
// it.
#pragma once

#include "options.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::trtexec {

enum class FlagGroup { kModel, kBuild, kInference, kReporting, kSystem, kHelp };

enum class FlagStatus {
  kSupported,
  //! An old name that still works; the text names the new one.
  kDeprecated,
  //! Accepted without effect; the text says why nothing is lost.
  kNoEffect,
  //! Known, and refused by name; the text is the reason.
  kRefused,
  //! Gone from TensorRT 10.16; the text says what to write instead.
  kRemoved,
};

//! What the rows write to while a command line is read from left to right.
struct FlagContext {
  Options options;
  //! The profile that the next shape flags belong to, and how many of them may still follow --profile directly.
  int32_t profile = 0;
  int32_t profileFlagsLeft = 0;
  //! The flags of the build that were given, in order.
  std::vector<std::string_view> buildFlags;
};

struct Flag {
  std::string_view name;
  //! "=<file>" for a flag with a value, empty for a switch.
  std::string_view argument;
  FlagGroup group;
  FlagStatus status;
  std::string_view text;
  //! Stores the value; throws std::invalid_argument with the reason when the value is bad. Null for rows that are not
  //! applied.
  void (*apply)(FlagContext& context, std::string_view value) = nullptr;

  bool takesValue() const { return !argument.empty(); }
  bool works() const { return status == FlagStatus::kSupported || status == FlagStatus::kDeprecated; }
};

//! All rows in the order of the help text.
const std::vector<Flag>& flagTable();

//! The groups in the order of the pages, with their titles.
const std::vector<std::pair<FlagGroup, std::string_view>>& flagGroups();

//! What a page says of a flag.
std::string describe(const Flag& flag);

//! The row of that name, or null.
const Flag* findFlag(std::string_view name);

//! The known name nearest to a mistyped one; empty when none is near.
std::string_view nearestFlag(std::string_view name);

// The parts of the table.
std::vector<Flag> buildFlags();
std::vector<Flag> inferenceFlags();
std::vector<Flag> reportingFlags();
std::vector<Flag> refusedFlags();

}  // namespace tenon::trtexec
