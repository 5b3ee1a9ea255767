// tenon_passes: runs the passes, or one of them, on a graph in text form; what a failed pass says to repeat it with.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <iterator>

#include "core/error.h"
#include "passes/pipeline.h"

namespace {

using namespace tenon;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UserError("cannot read '{}'", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const passes::Pass& passOf(const std::string& name) {
  std::string names;
  for (const auto& pass : passes::pipeline()) {
    if (pass.name == name) return pass;
    if (names.find(pass.name) == std::string::npos) names += (names.empty() ? "" : ", ") + std::string(pass.name);
  }
  throw UserError("unknown pass '{}'; expected one of {}", name, names);
}

void checkWritten(const char* what) {
  std::cout.flush();
  if (!std::cout) throw UserError("{} could not be written to the standard output", what);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs Tenon's passes on a graph in text form and prints the graph they leave.");
  std::string file;
  std::string pass;
  passes::Options options;
  app.add_option("FILE", file, "graph, as TENON_DUMP or a failed pass writes it")->required();
  app.add_option("--pass", pass, "run this pass once in place of the whole pipeline");
  app.add_option("--device", options.device, "kind of the device that the graph is for: cpu or cuda")
      ->capture_default_str();
  app.footer("TENON_DUMP=folder, TENON_STOP_AFTER=n and TENON_DISABLE=pass,... act as in a build.");
  try {
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& end) {  // a page of help is one too
      const int status = app.exit(end);
      checkWritten("the page");
      return status;
    }
    auto graph = graph::parse(read(file));
    if (pass.empty()) {
      passes::run(graph, options);
    } else {
      graph::verify(graph);
      passes::runPass(passOf(pass), graph, options);
    }
    std::cout << graph::text(graph);
    checkWritten("the graph");
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
