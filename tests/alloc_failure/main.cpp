// Memory gives out at the n-th request, for every n: the call says so and returns what it returns on failure, nothing
// is lost, and the same call works right afterwards.
#include <NvOnnxParser.h>
#include <execinfo.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "alloc_failure/counted_memory.h"
#include "support/small_network.h"

namespace {

using namespace tenon::test;

// Requests that are tried, spread over all; the rest is for TENON_EVERY_ALLOCATION=1. A measured build takes its time.
constexpr int64_t kTries = 700;
constexpr int64_t kTriesOfTuning = 25;

class CountingLog final : public nv::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity > Severity::kERROR) return;
    ++errors;
    for (auto& [text, count] : expected) count += std::strstr(message, text) != nullptr ? 1 : 0;
    if (isPrinting) std::fprintf(stderr, "log: %s\n", message);
  }
  int errors = 0;
  bool isPrinting = false;
  // What the parser says where it is told nothing else, and how often it did.
  std::pair<const char*, int> expected[2] = {{"cannot allocate ", 0},
                                             {"the builder made no network to try the model on", 0}};
};

CountingLog logger;
int64_t current = 0;  // the request that fails

[[noreturn]] void fail(const char* what) {
  endCounting();
  std::fprintf(stderr, "failed: %s, when request %lld found no memory\n", what, static_cast<long long>(current));
  std::_Exit(1);
}

[[noreturn]] void onTerminate() {
  endCounting();
  void* frames[60];
  const int count = backtrace(frames, 60);
  backtrace_symbols_fd(frames, count, STDERR_FILENO);
  fail("the library ended the process");
}

std::string contentOf(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What the tests take memory away from. Each leaves nothing behind, and tells whether it came to the right end.
struct Subject {
  SmallNetwork network;
  std::vector<float> x = uniform(SmallNetwork::kMaxBatch * SmallNetwork::kInput, 7);
  std::vector<float> wanted = network.expected(x);
  std::string digits = contentOf(TENON_DIGITS);
  std::vector<float> y = std::vector<float>(wanted.size());
  std::unique_ptr<nv::IHostMemory> plan;
  std::unique_ptr<nv::IRuntime> runtime;
  std::unique_ptr<nv::ICudaEngine> engine;

  bool build() const {
    const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(logger));
    return builder != nullptr && network.build(*builder) != nullptr;
  }
  bool load() const {
    const std::unique_ptr<nv::IRuntime> own(nv::createInferRuntime(logger));
    if (own == nullptr) return false;
    return std::unique_ptr<nv::ICudaEngine>(own->deserializeCudaEngine(plan->data(), plan->size())) != nullptr;
  }
  bool run() {
    const std::unique_ptr<nv::IExecutionContext> context(engine->createExecutionContext());
    std::fill(y.begin(), y.end(), -1.F);
    void* bindings[] = {x.data(), y.data()};
    if (context == nullptr || !context->setInputShape("x", SmallNetwork::inputDims(SmallNetwork::kMaxBatch)) ||
        !context->executeV2(bindings)) {
      return false;
    }
    for (size_t i = 0; i < y.size(); ++i) {
      if (!(std::abs(y[i] - wanted[i]) < 1e-5F)) fail("wrong answers without an error");
    }
    return true;
  }
  bool tune() const {
    const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(logger));
    return builder != nullptr && network.build(*builder, 3) != nullptr;
  }
  bool parse() const {
    const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(logger));
    const std::unique_ptr<nv::INetworkDefinition> parsed(builder == nullptr ? nullptr : builder->createNetworkV2(0));
    if (parsed == nullptr) return false;
    const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*parsed, logger));
    if (parser == nullptr) return false;
    if (parser->parseFromFile(TENON_DIGITS, 2)) return true;
    if (parser->getNbErrors() == 0 && logger.errors == 0) fail("the parser refused and said nothing");
    return false;
  }
  bool probe() const {
    const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(logger));
    const std::unique_ptr<nv::INetworkDefinition> probed(builder == nullptr ? nullptr : builder->createNetworkV2(0));
    if (probed == nullptr) return false;
    const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*probed, logger));
    if (parser == nullptr || parser->supportsModelV2(digits.data(), digits.size(), nullptr)) return parser != nullptr;
    // A trial keeps its errors and does not log them.
    for (int32_t i = 0; i < parser->getNbErrors(); ++i)
      logger.log(nv::ILogger::Severity::kERROR, parser->getError(i)->desc());
    return false;
  }
  bool act(const std::string& what) {
    if (what == "build") return build();
    if (what == "tune") return tune();
    if (what == "parse") return parse();
    if (what == "probe") return probe();
    return what == "load" ? load() : run();
  }

  void prepare() {
    const std::unique_ptr<nv::IBuilder> builder(nv::createInferBuilder(logger));
    plan = network.build(*builder);
    runtime.reset(nv::createInferRuntime(logger));
    engine.reset(runtime->deserializeCudaEngine(plan->data(), plan->size()));
    if (engine == nullptr) fail("no engine");
  }
};

// One failing request; false where there were fewer requests than that.
bool tryOne(Subject& subject, const std::string& what, bool onwards) {
  const int64_t before = liveObjects();
  logger.errors = 0;
  beginCounting(current, onwards);
  const bool isRight = subject.act(what);
  endCounting();
  if (!isRight && logger.errors == 0) fail("the call failed and said nothing");
  // While a network is made, also setters without a result report errors, and a network without that name may come
  // about.
  const bool makesNetwork = what == "parse" || what == "probe" || what == "build" || what == "tune";
  if (isRight && logger.errors != 0 && !makesNetwork) fail("the call reported an error and succeeded");
  if (liveObjects() > before) {
    // What is kept for the next time is kept once: another failure at the same place must not add to it.
    const int64_t again = liveObjects();
    beginCounting(current, onwards);
    (void)subject.act(what);
    endCounting();
    if (liveObjects() > again) fail("objects were lost");
  }
  return hasFailed();
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(&onTerminate);
  const std::string what = argc > 1 ? argv[1] : "";
  const bool onwards = argc > 2 && std::string(argv[2]) == "from_there";
  if (argc > 3) {
    logger.isPrinting = true;
    current = std::atoll(argv[3]);
  }
  Subject subject;
  subject.prepare();
  for (int i = 0; i < 3; ++i) {
    if (!subject.act(what)) fail("the call fails with all the memory there is");
  }
  beginCounting(0, false);
  (void)subject.act(what);
  const int64_t all = endCounting();
  if (argc > 3) return tryOne(subject, what, onwards) ? 0 : 1;

  const int64_t stride = std::getenv("TENON_EVERY_ALLOCATION") != nullptr || what == "probe"
                             ? 1
                             : std::max<int64_t>(1, all / (what == "tune" ? kTriesOfTuning : kTries));
  int64_t tried = 0;
  for (current = 1; current <= all; current += stride) tried += tryOne(subject, what, onwards) ? 1 : 0;
  current = 0;
  if (!subject.act(what)) fail("the call does not work any more afterwards");
  for (const auto& [text, count] : logger.expected) {
    if (what == "probe" && count == 0) fail(text);
  }
  std::printf("%lld of %lld requests failed in turn\n", static_cast<long long>(tried), static_cast<long long>(all));
  return tried > 0 ? 0 : 1;
}
