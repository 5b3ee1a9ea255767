// A program that is captured: it plays the scene that its first argument names.
#include "program.h"

int main(int argc, char** argv) {
  using namespace scenes;
  struct Row {
    const char* name;
    int (*play)(const std::string& prefix);
  };
  const Row rows[] = {{"layers", everyLayer},
                      {"interleaved", interleaved},
                      {"threads", threads},
                      {"failure", failure},
                      {"users", users},
                      {"profiles", profiles},
                      {"streams", streams},
                      {"plugins", plugins},
                      {"plugin_refused", pluginRefused},
                      {"answers", answers},
                      {"slow_streams", slowStreams},
                      {"measured", measured},
                      {"killed", killed},
                      {"killed_inside", killedInside},
                      {"killed_later", killedLater},
                      {"busy", busy},
                      {"large", large},
                      {"control_flow", controlFlow}};
  for (const Row& row : rows) {
    if (argc == 3 && std::string(row.name) == argv[1]) {
      return row.play(argv[2]);
    }
  }
  std::fprintf(stderr, "usage: capture_program SCENE PREFIX\n");
  return 64;
}
