// SPDX-License-Identifier: Apache-2.0
// Plugins that are a kernel which was compiled before: on a GPU, or on one that the host emulates. NVRTC compiles them
// here; the engine holds their code, and is loaded without the plugin. Ends with 77 where no GPU answers.
#include <NvInfer.h>
#include <dlfcn.h>
#include <impl/NvInferPythonPlugin.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace nvinfer1;

class Logger final : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) errors += std::string(message) + "\n";
  }
  std::string take() { return std::exchange(errors, {}); }
  std::string errors;
};

Logger logger;
int failures = 0;

bool expect(bool condition, const std::string& what) {
  if (condition) return true;
  std::printf("FAILED: %s\n%s", what.c_str(), logger.take().c_str());
  ++failures;
  return false;
}

// y = 2 x + add, element by element. "scale_more" has two parameters behind, as Triton's kernels do.
constexpr const char* kSource = R"(
#ifdef EMULATED
#include "intrinsics.cuh"
#define EXPORTED extern "C" __attribute__((visibility("default")))
struct Arguments { unsigned count, bytes[16]; };
EXPORTED Arguments scale_arguments = {4, {8, 4, 2, 8}};
EXPORTED Arguments scale_more_arguments = {6, {8, 4, 2, 8, 8, 8}};
#define ARGUMENTS void** a
#define MORE_ARGUMENTS void** a
#define READ const float* x = *(const float**)a[0]; int n = *(int*)a[1]; short add = *(short*)a[2]; float* y = *(float**)a[3];
#define READ_MORE READ const void* first = *(void**)a[4]; const void* second = *(void**)a[5];
#else
#define EXPORTED extern "C" __global__
#define ARGUMENTS const float* x, int n, short add, float* y
#define MORE_ARGUMENTS ARGUMENTS, const void* first, const void* second
#define READ
#define READ_MORE
#endif
EXPORTED void scale(ARGUMENTS) {
  READ
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = 2 * x[i] + add;
}
EXPORTED void scale_more(MORE_ARGUMENTS) {
  READ_MORE
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = first == nullptr && second == nullptr ? 2 * x[i] + add : -1;
}
)";

bool isEmulated() { return std::getenv("TENON_TEST_EMULATED") != nullptr; }

// PTX; of the emulated compiler, a library for the host.
std::string compile() {
  void* library = nullptr;
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (!expect(library != nullptr, "no libnvrtc was found")) return {};
  const auto function = [&](const char* name) { return dlsym(library, name); };
  using Create = int (*)(void**, const char*, const char*, int, const char* const*, const char* const*);
  using Compile = int (*)(void*, int, const char* const*);
  using Size = int (*)(void*, size_t*);
  using Get = int (*)(void*, char*);
  const std::string source = std::string(isEmulated() ? "#define EMULATED\n" : "") + kSource;
  void* program = nullptr;
  const char* options[] = {"--gpu-architecture=compute_80"};
  reinterpret_cast<Create>(function("nvrtcCreateProgram"))(&program, source.c_str(), "scale.cu", 0, nullptr, nullptr);
  const int status = reinterpret_cast<Compile>(function("nvrtcCompileProgram"))(program, 1, options);
  const auto text = [&](const char* sizeName, const char* name) {
    size_t size = 0;
    reinterpret_cast<Size>(function(sizeName))(program, &size);
    std::string result(size, '\0');
    reinterpret_cast<Get>(function(name))(program, result.data());
    return result;
  };
  if (!expect(status == 0, "NVRTC: " + text("nvrtcGetProgramLogSize", "nvrtcGetProgramLog"))) return {};
  return text("nvrtcGetPTXSize", "nvrtcGetPTX");
}

// What a plugin says; tests change it.
struct Behaviour {
  std::string kernel = "scale";
  std::string code;
  int64_t threads = 64;
  int64_t shared = 0;
  int64_t add = 3;
  bool isAliased = false;
  bool givesStrangeExpression = false;
  bool givesOneArgument = false;
};

class Number final : public ISymExpr {
 public:
  explicit Number(const IDimensionExpr* value, PluginArgDataType type = PluginArgDataType::kINT32)
      : value_(value), type_(type) {}
  PluginArgType getType() const noexcept override { return PluginArgType::kINT; }
  PluginArgDataType getDataType() const noexcept override { return type_; }
  void* getExpr() noexcept override { return const_cast<IDimensionExpr*>(value_); }

 private:
  const IDimensionExpr* value_;
  PluginArgDataType type_;
};

class Compiled final : public IPluginV3, public IPluginV3QuickCore, public IPluginV3QuickAOTBuild {
 public:
  explicit Compiled(const Behaviour& behaviour) : behaviour_(behaviour) {}
  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3QuickCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3QuickAOTBuild*>(this);
    return nullptr;
  }
  IPluginV3* clone() noexcept override { return new Compiled(*this); }
  const char* getPluginName() const noexcept override { return "Compiled"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "test"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t getOutputDataTypes(DataType* outputs, int32_t, const DataType* inputs, const int32_t*,
                             int32_t) const noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* inputs, int32_t, const DimsExprs*, int32_t, DimsExprs* outputs, int32_t,
                          IExprBuilder&) noexcept override {
    outputs[0] = inputs[0];
    return 0;
  }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    return 0;
  }
  int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc*, int32_t, int32_t) noexcept override {
    return 1;
  }
  int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* operands, int32_t, int32_t,
                                         PluginTensorDesc* combinations, int32_t) noexcept override {
    for (int i = 0; i < 2; ++i) {
      combinations[i] = operands[i].desc;
      combinations[i].type = DataType::kFLOAT;
      combinations[i].format = TensorFormat::kLINEAR;
    }
    return 0;
  }
  int32_t getAliasedInput(int32_t) noexcept override { return behaviour_.isAliased ? 0 : -1; }
  int32_t getNbTactics() noexcept override { return 1; }
  int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override {
    tactics[0] = 7;
    return 0;
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    tactic_ = tactic;
    return 0;
  }
  int32_t getLaunchParams(const DimsExprs* inputs, const DynamicPluginTensorDesc* operands, int32_t, int32_t,
                          IKernelLaunchParams* launch, ISymExprs* extra, IExprBuilder& builder) noexcept override {
    const auto* count = builder.constant(1);
    for (int axis = 0; axis < inputs[0].nbDims; ++axis)
      count = builder.operation(DimensionOperation::kPROD, *count, *inputs[0].d[axis]);
    const auto set = [](auto&& give, const IDimensionExpr* value) {
      Number number(value);  // gone when the call is over
      return give(&number);
    };
    const auto* threads = builder.constant(behaviour_.threads);
    bool good = launch->getGridY() != nullptr && operands[0].desc.type == DataType::kFLOAT;
    good &= set([&](ISymExpr* x) { return launch->setGridX(x); },
                builder.operation(DimensionOperation::kCEIL_DIV, *count, *threads));
    good &= set([&](ISymExpr* x) { return launch->setBlockX(x); }, threads);
    good &= set([&](ISymExpr* x) { return launch->setSharedMem(x); }, builder.constant(behaviour_.shared));
    if (behaviour_.givesStrangeExpression) good &= set([&](ISymExpr* x) { return launch->setGridZ(x); }, nullptr);
    good &= extra->setNbSymExprs(behaviour_.givesOneArgument ? 1 : 2);
    if (behaviour_.givesOneArgument) good &= !extra->setSymExpr(2, nullptr);
    good &= set([&](ISymExpr* x) { return extra->setSymExpr(0, x); }, count);
    Number add(builder.constant(behaviour_.add), PluginArgDataType::kINT16);
    if (!behaviour_.givesOneArgument) good &= extra->setSymExpr(1, &add);
    return good || !behaviour_.code.empty() ? 0 : 1;
  }
  int32_t getKernel(const PluginTensorDesc*, int32_t, const PluginTensorDesc*, int32_t, const char** name, char** code,
                    int32_t* size) noexcept override {
    *name = behaviour_.kernel.c_str();
    *code = behaviour_.code.data();
    *size = static_cast<int32_t>(behaviour_.code.size());
    return tactic_ == 7 ? 0 : 2;
  }

 private:
  Behaviour behaviour_;
  int32_t tactic_ = 0;
};

// x [n, 5] -> |x| -> plugin -> -y
std::unique_ptr<IHostMemory> build(const Behaviour& behaviour) {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  config->setPreviewFeature(PreviewFeature::kALIASED_PLUGIN_IO_10_03, behaviour.isAliased);
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims{2, {-1, 5}});
  ITensor* absolute = network->addUnary(*x, UnaryOperation::kABS)->getOutput(0);
  Compiled plugin(behaviour);
  ILayer* layer = network->addPluginV3(&absolute, 1, nullptr, 0, plugin);
  if (layer == nullptr) return nullptr;
  layer->setName("the layer");
  ITensor* y = network->addUnary(*layer->getOutput(0), UnaryOperation::kNEG)->getOutput(0);
  y->setName("y");
  network->markOutput(*y);
  IOptimizationProfile* profile = builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, Dims{2, {0, 5}});
  profile->setDimensions("x", OptProfileSelector::kOPT, Dims{2, {30, 5}});
  profile->setDimensions("x", OptProfileSelector::kMAX, Dims{2, {400, 5}});
  config->addOptimizationProfile(profile);
  return std::unique_ptr<IHostMemory>(builder->buildSerializedNetwork(*network, *config));
}

// Memory that host and device see.
float* shared(size_t count) {
  using Allocate = int (*)(unsigned long long*, size_t, unsigned);
  static const auto kManaged =
      reinterpret_cast<Allocate>(isEmulated() ? nullptr : dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemAllocManaged"));
  unsigned long long address = 0;
  if (kManaged != nullptr && kManaged(&address, count * sizeof(float) + 4, 1) == 0)
    return reinterpret_cast<float*>(address);
  return static_cast<float*>(std::malloc(count * sizeof(float) + 4));
}

void check(const Behaviour& behaviour, const std::string& what) {
  const auto plan = build(behaviour);
  if (!expect(plan != nullptr, what + " is not built")) return;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
  const std::unique_ptr<ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (!expect(engine != nullptr, what + " is not loaded")) return;
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  for (const int64_t n : {1, 30, 13, 0, 400}) {
    const auto count = static_cast<size_t>(n * 5);
    float* const x = shared(count);
    float* const y = shared(count);
    context->setInputShape("x", Dims{2, {n, 5}});
    for (int round = 0; round < 4; ++round) {  // the later ones are replayed where that is possible
      for (size_t i = 0; i < count; ++i) x[i] = static_cast<float>((i * 7 + static_cast<size_t>(round) * 5) % 33) - 16;
      void* bindings[] = {x, y};
      expect(context->executeV2(bindings), what + " does not run");
      size_t wrong = 0;
      for (size_t i = 0; i < count; ++i)
        wrong += y[i] == -(2 * std::abs(x[i]) + static_cast<float>(behaviour.add)) ? 0 : 1;
      expect(wrong == 0, what + ", " + std::to_string(n) + " rows, round " + std::to_string(round) + ": " +
                             std::to_string(wrong) + " elements are wrong");
    }
  }
}

void refused(const Behaviour& behaviour, std::initializer_list<const char*> parts) {
  expect(build(behaviour) == nullptr, std::string("built, in spite of: ") + *parts.begin());
  const auto text = logger.take();
  expect(text.find("the layer") != std::string::npos, "no layer is named in: " + text);
  for (const char* part : parts)
    expect(text.find(part) != std::string::npos, std::string(part) + " is not in: " + text);
}

}  // namespace

int main() {
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  if (!builder->platformHasFastFp16()) {
    std::printf("skipped: no GPU answers\n");
    return 77;
  }
  Behaviour good;
  good.code = compile();
  if (good.code.empty()) return 1;
  const auto with = [&](auto&& change) {
    Behaviour changed = good;
    change(changed);
    return changed;
  };
  check(good, "the kernel");
  check(with([](auto& b) { b.kernel = "scale_more"; }), "the kernel with more parameters");
  check(with([](auto& b) { b.isAliased = true; }), "the kernel in place");
  check(with([](auto& b) { b.add = -32768, b.threads = 1024, b.shared = 1024; }), "the kernel in large blocks");
  refused(with([](auto& b) { b.kernel = "shift"; }), {"its compiled code has no kernel 'shift'"});
  refused(with([](auto& b) { b.code = "no code"; }), {"the driver refuses the code of 7 bytes"});
  refused(with([](auto& b) { b.code.clear(); }), {"getKernel() gave the name 'scale' and 0 bytes of code"});
  refused(with([](auto& b) { b.threads = 1025; }), {"'scale'", "block_x = 1025; expected 1 to 1024"});
  refused(with([](auto& b) { b.add = 40000; }), {"argument 1 = 40000; expected -32768 to 32767"});
  refused(with([](auto& b) { b.givesStrangeExpression = true; }),
          {"getLaunchParams(): grid_z: it is no expression that this call gave or made"});
  refused(with([](auto& b) { b.givesOneArgument = true; }), {"argument 2 of 1"});
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
