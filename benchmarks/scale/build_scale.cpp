// How the time of a build at optimization level 0, and of loading what it built, grows with the number of layers.
//
//   build_scale [--layers 100,1000,10000] [--networks convolutions;pointwise;...] [--limit RATIO]
//
// With --limit the program ends with status 1 where ten times the layers take more than RATIO times the seconds.
#include <NvInfer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace nv = nvinfer1;

class Log final : public nv::ILogger {
  void log(Severity severity, const char* text) noexcept override {
    const bool isWanted = severity <= Severity::kERROR || std::getenv("BUILD_SCALE_VERBOSE") != nullptr;
    if (isWanted) std::fprintf(stderr, "%s\n", text);
  }
} theLog;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(1);
}

nv::Dims dims(std::initializer_list<int64_t> extents) {
  nv::Dims result{static_cast<int32_t>(extents.size()), {}};
  std::copy(extents.begin(), extents.end(), result.d);
  return result;
}

// Each time another part of one table: layers with equal weights would be merged.
nv::Weights weightsOf(int64_t count) {
  static const std::vector<float> values = [] {
    std::vector<float> table(1 << 16);
    for (size_t i = 0; i < table.size(); ++i) table[i] = 0.01f + 1e-7f * static_cast<float>(i);
    return table;
  }();
  static size_t next = 0;
  next = (next + 1) % (values.size() - static_cast<size_t>(count));
  return {nv::DataType::kFLOAT, values.data() + next, count};
}

using Network = nv::INetworkDefinition;
using Tensor = nv::ITensor;

Tensor* convolution(Network& network, Tensor& x) {
  return network.addConvolutionNd(x, 4, dims({3, 3}), weightsOf(4 * 4 * 9), weightsOf(4))->getOutput(0);
}

Tensor* padded(Network& network, Tensor& x) {
  auto* const layer = network.addConvolutionNd(x, 4, dims({3, 3}), weightsOf(4 * 4 * 9), weightsOf(4));
  layer->setPaddingNd(dims({1, 1}));
  return layer->getOutput(0);
}

Tensor* relu(Network& network, Tensor& x) { return network.addActivation(x, nv::ActivationType::kRELU)->getOutput(0); }

Tensor* sum(Network& network, Tensor& x, Tensor& y) {
  return network.addElementWise(x, y, nv::ElementWiseOperation::kSUM)->getOutput(0);
}

Tensor* number(Network& network, float value) {
  static std::vector<std::unique_ptr<float>> numbers;
  numbers.push_back(std::make_unique<float>(value));
  return network.addConstant(dims({1, 1, 1, 1}), {nv::DataType::kFLOAT, numbers.back().get(), 1})->getOutput(0);
}

// A chain of `layers` layers, and what reads its end.
struct Shape {
  const char* name;
  std::function<Tensor*(Network&, Tensor&, int)> define;
};

const Shape kNetworks[] = {
    {"convolutions",
     [](Network& network, Tensor& x, int layers) {
       auto* last = &x;
       for (int i = 0; i < layers; ++i) last = padded(network, *last);
       return last;
     }},
    {"convolutions, relu",
     [](Network& network, Tensor& x, int layers) {
       auto* last = &x;
       for (int i = 0; i < layers; i += 2) last = relu(network, *padded(network, *last));
       return last;
     }},
    {"residual blocks",
     [](Network& network, Tensor& x, int layers) {
       auto* last = &x;
       for (int i = 0; i < layers; i += 3) last = relu(network, *sum(network, *padded(network, *last), *last));
       return last;
     }},
    {"pointwise",
     [](Network& network, Tensor& x, int layers) {
       const nv::UnaryOperation kinds[] = {nv::UnaryOperation::kSIN, nv::UnaryOperation::kCOS,
                                           nv::UnaryOperation::kATAN};
       auto* last = &x;
       for (int i = 0; i < layers; ++i) last = network.addUnary(*last, kinds[i % 3])->getOutput(0);
       return last;
     }},
    {"pointwise, input again",
     [](Network& network, Tensor& x, int layers) {
       auto* last = &x;
       for (int i = 0; i < layers; i += 2) {
         last = sum(network, *network.addUnary(*last, nv::UnaryOperation::kSIN)->getOutput(0), x);
       }
       return last;
     }},
    {"softmax, sum",
     [](Network& network, Tensor& x, int layers) {
       auto* last = &x;
       for (int i = 0; i < layers; i += 2) {
         last = sum(network, *network.addSoftMax(*last)->getOutput(0), *number(network, static_cast<float>(i)));
       }
       return last;
     }},
    {"branches, sums",
     [](Network& network, Tensor& x, int layers) {
       Tensor* last = nullptr;
       for (int i = 0; i < layers; i += 2) {
         auto* const branch = padded(network, x);
         last = last == nullptr ? branch : sum(network, *last, *branch);
       }
       return last;
     }},
    {"branches, concatenation",
     [](Network& network, Tensor& x, int layers) {
       std::vector<Tensor*> branches;
       for (int i = 0; i + 1 < layers; ++i) branches.push_back(padded(network, x));
       return network.addConcatenation(branches.data(), static_cast<int32_t>(branches.size()))->getOutput(0);
     }},
    {"pointwise branches",
     [](Network& network, Tensor& x, int layers) {
       std::vector<Tensor*> branches;
       for (int i = 0; i + 1 < layers; ++i) {
         branches.push_back(sum(network, x, *number(network, static_cast<float>(i))));
       }
       return network.addConcatenation(branches.data(), static_cast<int32_t>(branches.size()))->getOutput(0);
     }},
    {"branches, outputs",
     [](Network& network, Tensor& x, int layers) {
       Tensor* last = nullptr;
       for (int i = 0; i < layers; ++i) {
         if (last != nullptr) network.markOutput(*last);
         last = convolution(network, x);
       }
       return last;
     }},
    {"shuffles, reshapes",
     [](Network& network, Tensor& x, int layers) {
       auto* last = &x;
       for (int i = 0; i < layers; ++i) {
         auto* const shuffle = network.addShuffle(*last);
         if (i % 2 == 0) shuffle->setFirstTranspose({{0, 2, 1, 3}});
         shuffle->setReshapeDimensions(i % 2 == 0 ? dims({1, 2, 8, 4}) : dims({1, 4, 4, 4}));
         last = shuffle->getOutput(0);
       }
       return last;
     }},
    {"shuffles, pointwise",
     [](Network& network, Tensor& x, int layers) {
       auto* last = &x;
       for (int i = 0; i < layers; i += 2) {
         auto* const shuffle = network.addShuffle(*last);
         shuffle->setFirstTranspose({{0, 2, 1, 3}});
         last = network.addUnary(*shuffle->getOutput(0), nv::UnaryOperation::kSIN)->getOutput(0);
       }
       return last;
     }},
};

struct Seconds {
  double build = 0;
  double load = 0;
};

Seconds measure(const Shape& shape, int layers) {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(theLog));
  const std::unique_ptr<Network> network(builder->createNetworkV2(0));
  const std::unique_ptr<nv::IBuilderConfig> config(builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  const double start = now();
  auto* const x = network->addInput("x", nv::DataType::kFLOAT, dims({1, 4, 4, 4}));
  auto* const last = shape.define(*network, *x, layers);
  network->markOutput(*last);
  const std::unique_ptr<nv::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  if (plan == nullptr) fail(std::string(shape.name) + " could not be built");
  const double built = now();
  const std::unique_ptr<nv::IRuntime> runtime(nv::createInferRuntime(theLog));
  const std::unique_ptr<nv::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  if (engine == nullptr) fail(std::string(shape.name) + " could not be loaded");
  const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
  if (context == nullptr) fail(std::string(shape.name) + " has no context");
  return {built - start, now() - built};
}

std::vector<std::string> split(const char* list) {
  std::vector<std::string> parts;
  std::istringstream in(list);
  for (std::string part; std::getline(in, part, ';');) parts.push_back(part);
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> layers{100, 1000, 10000};
  std::vector<std::string> wanted;
  double limit = 0;
  for (int i = 1; i < argc; ++i) {
    const bool hasValue = i + 1 < argc;
    if (hasValue && std::strcmp(argv[i], "--layers") == 0) {
      layers.clear();
      for (const auto& part : split(argv[++i])) layers.push_back(std::atoi(part.c_str()));
    } else if (hasValue && std::strcmp(argv[i], "--networks") == 0) {
      wanted = split(argv[++i]);
    } else if (hasValue && std::strcmp(argv[i], "--limit") == 0) {
      limit = std::atof(argv[++i]);
    } else {
      fail("usage: build_scale [--layers '100;1000;10000'] [--networks 'convolutions;pointwise'] [--limit 12]");
    }
  }
  bool isLinear = true;
  std::printf("| network | layers | build s | load s | ratio |\n| --- | --- | --- | --- | --- |\n");
  for (const auto& shape : kNetworks) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), shape.name) == wanted.end()) continue;
    Seconds before;
    for (const int count : layers) {
      const auto seconds = measure(shape, count);
      const double total = seconds.build + seconds.load;
      const double ratio = before.build == 0 ? 0 : total / (before.build + before.load);
      std::printf("| %s | %d | %.3f | %.3f | %.1f |\n", shape.name, count, seconds.build, seconds.load, ratio);
      std::fflush(stdout);
      isLinear = isLinear && (limit == 0 || ratio <= limit);
      before = seconds;
    }
  }
  return isLinear ? 0 : 1;
}
