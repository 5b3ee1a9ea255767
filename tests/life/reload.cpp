// The libraries opened by dlopen, used, and closed, again and again: no crash and no growing memory.
#include <NvInferPlugin.h>
#include <NvOnnxParser.h>
#include <dlfcn.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "support.h"

namespace {

using namespace tenon::test;

double residentMebibytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

class Library {
 public:
  explicit Library(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) std::fprintf(stderr, "%s\n", dlerror());
    require(handle_ != nullptr, "open a library");
  }
  void close() { require(dlclose(std::exchange(handle_, nullptr)) == 0, "close a library"); }
  template <typename Function>
  Function* function(const char* name) const {
    void* const address = dlsym(handle_, name);
    require(address != nullptr, name);
    return reinterpret_cast<Function*>(address);
  }

 private:
  void* handle_;
};

void useAll(const Library& library, const Library& parserLibrary, const Library& plugins, const char* model) {
  auto* const makeBuilder = library.function<void*(void*, int32_t)>("createInferBuilder_INTERNAL");
  auto* const makeRuntime = library.function<void*(void*, int32_t)>("createInferRuntime_INTERNAL");
  auto* const makeParser = parserLibrary.function<void*(void*, void*, int)>("createNvOnnxParser_INTERNAL");
  auto* const initPlugins = plugins.function<bool(void*, const char*)>("initLibNvInferPlugins");
  static PrintingLog log;
  require(initPlugins(&log, ""), "register the standard plugins");
  const std::unique_ptr<nv::IBuilder> builder(static_cast<nv::IBuilder*>(makeBuilder(&log, NV_TENSORRT_VERSION)));
  require(builder != nullptr, "make a builder");
  {
    const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
    const std::unique_ptr<nvonnxparser::IParser> parser(
        static_cast<nvonnxparser::IParser*>(makeParser(network.get(), &log, NV_ONNX_PARSER_VERSION)));
    require(parser != nullptr && parser->parseFromFile(model, 2), "parse");
  }
  const SmallNetwork network;
  const auto plan = network.build(*builder);
  require(plan != nullptr, "build");
  const std::unique_ptr<nv::IRuntime> runtime(static_cast<nv::IRuntime*>(makeRuntime(&log, NV_TENSORRT_VERSION)));
  const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  require(engine != nullptr, "load");
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  require(context != nullptr && answersRight(network, *context), "right answers");
}

}  // namespace

int main(int argc, char** argv) {
  require(argc == 4, "three arguments: a case, the libraries' folder, a model");
  const bool crossed = std::string(argv[1]) == "crossed";
  const std::string folder = argv[2];
  constexpr int kRounds = 40;
  double warm = 0;
  for (int round = 0; round < kRounds; ++round) {
    Library library(folder + "/libnvinfer.so.10");
    Library parser(folder + "/libnvonnxparser.so.10");
    Library plugins(folder + "/libnvinfer_plugin.so.10");
    useAll(library, parser, plugins, argv[3]);
    if (crossed) library.close();
    parser.close();
    plugins.close();
    if (!crossed) library.close();
    if (round == kRounds / 4) warm = residentMebibytes();
  }
  const double end = residentMebibytes();
  std::printf("%d rounds: %.1f MiB resident after a quarter of them, %.1f MiB at the end\n", kRounds, warm, end);
  require(end <= warm + 4, "memory stays what it is");
  return 0;
}
