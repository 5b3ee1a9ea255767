// SPDX-License-Identifier: Apache-2.0
// tenon_check_plugins LIBRARY: asks each creator and its plugins what a builder would, and says what is wrong.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "checks.h"

namespace {

using namespace tenon::check;

struct Options {
  std::string library, plugin, version, space;
  std::vector<std::string> inputs, fields;
  unsigned seconds = 60;
};

struct Counts {
  int good = 0, wrong = 0, skipped = 0;
};

void report(const Check& check, unsigned seconds, Counts& counts) {
  const auto outcome = isolated(check.run, seconds);
  switch (outcome.kind) {
    case Outcome::Kind::kGood:
      ++counts.good;
      fmt::print("  good     {}\n", check.title);
      break;
    case Outcome::Kind::kSkipped:
      ++counts.skipped;
      fmt::print("  skipped  {}: {}\n", check.title, outcome.text);
      break;
    case Outcome::Kind::kWrong:
      ++counts.wrong;
      fmt::print("  WRONG    {}: {}\n", check.title, outcome.text);
      break;
  }
  std::fflush(stdout);
}

void checkCreator(nv::IPluginCreatorInterface& object, const Options& options, const Request& request, Counts& counts) {
  const auto creator = creatorOf(object);
  if (creator == nullptr) {
    ++counts.skipped;
    fmt::print(
        "a creator of the kind '{}'\n  skipped  its plugins are functions of Python, or of a kind that is unknown\n",
        object.getInterfaceInfo().kind);
    return;
  }
  const auto text = [](const char* words) { return std::string(words != nullptr ? words : ""); };
  const std::string name = text(creator->name()), version = text(creator->version()), space = text(creator->space());
  if ((!options.plugin.empty() && name != options.plugin) || (!options.version.empty() && version != options.version) ||
      (!options.space.empty() && space != options.space))
    return;
  fmt::print("plugin '{}', version '{}', namespace '{}'\n", name, version, space);
  for (const auto& check : objectChecks(*creator, request)) report(check, options.seconds, counts);
  for (const auto& check : engineChecks(*creator, request)) report(check, options.seconds, counts);
}

int check(const Options& options) {
  Request request;
  for (const auto& text : options.inputs) request.inputs.push_back(parseInput(text));
  for (const auto& text : options.fields) request.fields.push_back(parseField(text));
  auto& registry = *getPluginRegistry();
  int32_t before = 0;
  registry.getAllCreators(&before);
  Counts counts;
  const auto load = [&] {
    if (registry.loadLibrary(options.library.c_str()) == nullptr) throw Wrong(lastError().take());
  };
  const std::unique_ptr<nv::IRuntime> runtime(
      nv::createInferRuntime(lastError()));  // the registry reports to its logger
  report({"the library loads: " + options.library, load}, options.seconds, counts);
  if (counts.wrong > 0) return 1;
  load();
  int32_t count = 0;
  auto* const* creators = registry.getAllCreators(&count);
  const std::vector<nv::IPluginCreatorInterface*> list(creators + before, creators + count);
  if (list.empty()) fmt::print("the library registers no creators\n");
  for (auto* creator : list) checkCreator(*creator, options, request, counts);
  fmt::print("{} good, {} wrong, {} skipped\n", counts.good, counts.wrong, counts.skipped);
  if (counts.good <= 1)
    fmt::print("nothing was checked; the names of plugins are those that the library gives its creators\n");
  return counts.wrong > 0 || counts.good <= 1 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Asks the plugins of a library what a builder and a runtime would, each question in a process of its own, and says "
      "what is wrong. The exit status is 1 where something is.");
  Options options;
  app.add_option("library", options.library, "The plugin library")->required();
  app.add_option("--plugin", options.plugin, "Only plugins of this name");
  app.add_option("--version", options.version, "Only of this version");
  app.add_option("--namespace", options.space, "Only of this namespace");
  app.add_option("--input", options.inputs, "An input, such as f32:2x8x6x5; once per input")
      ->default_val("f32:2x8x6x5");
  app.add_option("--field", options.fields,
                 "A field for the creator, such as pads:i32=1,2 or mode:char=edge; once per field");
  app.add_option("--seconds", options.seconds, "How long a question may take")->default_val(60);
  CLI11_PARSE(app, argc, argv);
  try {
    return check(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenon_check_plugins: {}\n", error.what());
    return 2;
  }
}
