// Plans that move between processors: `make FOLDER MODEL` builds the model with measured tactics and keeps the plan
// with random inputs and the answers; `read FOLDER` loads the plan and expects the same answers. TENON_MAX_ISA is what
// differs.
#include <NvOnnxParser.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "life/support.h"

namespace {

using namespace tenon::test;

constexpr int64_t kBatch = 7;
constexpr int64_t kPixels = 28 * 28;
constexpr int64_t kClasses = 10;
constexpr double kTolerance = 1e-4;

PrintingLog log;

template <typename T>
void save(const std::string& path, const T* data, size_t count) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(count * sizeof(T)));
  require(file.good(), "write a file");
}

template <typename T>
std::vector<T> load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  require(!bytes.empty(), "read a file of an earlier test");
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
  return result;
}

std::vector<float> answers(const void* plan, size_t bytes) {
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(log));
  const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan, bytes));
  require(engine != nullptr, "load the plan");
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  require(context != nullptr && context->setInputShape("input", apiDims({kBatch, 1, 28, 28})), "set the shape");
  const auto x = uniform(kBatch * kPixels, 3);
  std::vector<float> y(kBatch * kClasses, -1);
  void* bindings[] = {const_cast<float*>(x.data()), y.data()};
  require(context->executeV2(bindings), "run");
  return y;
}

void make(const std::string& folder, const char* model) {
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(log));
  const std::unique_ptr<nv::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, log));
  require(parser->parseFromFile(model, 2), "parse the model");
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  auto* const profile = builder->createOptimizationProfile();
  profile->setDimensions("input", nv::OptProfileSelector::kMIN, apiDims({1, 1, 28, 28}));
  profile->setDimensions("input", nv::OptProfileSelector::kOPT, apiDims({4, 1, 28, 28}));
  profile->setDimensions("input", nv::OptProfileSelector::kMAX, apiDims({8, 1, 28, 28}));
  require(config->addOptimizationProfile(profile) == 0, "add the profile");
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  require(plan != nullptr, "build");
  const auto y = answers(plan->data(), plan->size());
  save(folder + "/plan", static_cast<const char*>(plan->data()), plan->size());
  save(folder + "/answers", y.data(), y.size());
}

void read(const std::string& folder) {
  const auto plan = load<char>(folder + "/plan");
  const auto wanted = load<float>(folder + "/answers");
  const auto got = answers(plan.data(), plan.size());
  require(got.size() == wanted.size(), "as many answers as before");
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
  std::printf("largest difference of a probability: %g\n", worst);
  require(worst < kTolerance, "the same answers");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "make" && argc == 4) {
    make(argv[2], argv[3]);
  } else {
    require(command == "read" && argc == 3, "make FOLDER MODEL, or read FOLDER");
    read(argv[2]);
  }
  return 0;
}
