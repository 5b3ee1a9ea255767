// Every case by every candidate of every device, after a way through the serialized plan, beside the reference.
#include <gtest/gtest-spi.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cases/cases.h"
#include "core/storage.h"
#include "ops/op/reformat.h"
#include "runtime/kernel.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

double toleranceOf(DataType type) {
  switch (type) {
    case DataType::kF16: return 1.5e-3;
    case DataType::kBF16: return 1e-2;
    case DataType::kF8E4M3: return 0.06;
    default: return isFloating(type) ? 2e-5 : 0;
  }
}

// Random values; those of large tensors repeat, because making them would take longer than all else.
HostTensor valuesFor(const ops::TensorType& type, uint64_t seed) {
  constexpr int64_t kPeriod = 1 << 20;
  const Dims dims = evaluate(type.shape, {});
  if (dims.count() <= kPeriod) return randomTensor(type.dtype, dims, seed);
  const HostTensor period = randomTensor(type.dtype, {kPeriod}, seed);
  HostTensor tensor(type.dtype, dims);
  const size_t step = period.view().bytes();
  for (size_t at = 0; at < tensor.view().bytes(); at += step) {
    std::memcpy(tensor.view().as<char>() + at, period.view().data, std::min(step, tensor.view().bytes() - at));
  }
  return tensor;
}

std::vector<HostTensor> inputsOf(const Case& c) {
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    if (c.constant && i == 1) continue;
    const auto type = parseType(c.operands[i]);
    inputs.push_back(valuesFor(type, i + 1));
    const auto& view = inputs.back().view();
    for (int64_t k = 0; k < view.count(); ++k) {
      if (i == 1 && c.indexLimit > 0) view.storeInt(k, (k * 7919 + 3) % (2 * c.indexLimit) - c.indexLimit);
      if (i > 0 && c.positive && isFloating(type.dtype)) view.storeDouble(k, 0.75 + view.loadDouble(k) / 4);
    }
  }
  return inputs;
}

// A tensor's memory on a device. That of the host begins one element behind what is aligned, as slices of a caller's
// arrays do; what of it nobody writes is no zero.
class Buffer {
 public:
  Buffer(runtime::Device& device, const TensorView& view)
      : device_(device), view_(view), offset_(device.isHost() ? static_cast<size_t>(bits(view.dtype) / 8) : 0) {
    memory_ = device.allocate(view.bytes() + offset_, 256);
    write();
  }
  ~Buffer() { device_.free(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return static_cast<char*>(memory_) + offset_; }
  void write() { device_.copy(data(), view_.data, view_.bytes(), runtime::CopyKind::kHostToDevice, nullptr); }
  void read() { device_.copy(view_.data, data(), view_.bytes(), runtime::CopyKind::kDeviceToHost, nullptr); }

 private:
  runtime::Device& device_;
  TensorView view_;
  size_t offset_;
  void* memory_ = nullptr;
};

// Twice from the same context: the second execution finds what the first has left.
std::vector<HostTensor> runTwice(const runtime::Engine& engine, runtime::Context& context,
                                 const std::vector<HostTensor>& inputs) {
  std::vector<HostTensor> outputs;
  std::vector<std::unique_ptr<Buffer>> buffers;
  outputs.reserve(engine.io().size());
  size_t next = 0;
  for (size_t i = 0; i < engine.io().size(); ++i) {
    const auto& io = engine.io()[i];
    if (!io.isInput) {
      outputs.emplace_back(io.dtype, context.shape(static_cast<int>(i)));
      std::memset(outputs.back().view().data, 0x7b, outputs.back().view().bytes());
    }
    const auto& view = io.isInput ? inputs.at(next++).view() : outputs.back().view();
    buffers.push_back(std::make_unique<Buffer>(engine.device(), view));
    context.setAddress(static_cast<int>(i), buffers.back()->data());
  }
  engine.device().synchronize(nullptr);
  for (int i = 0; i < 2; ++i) context.enqueue(nullptr);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!engine.io()[i].isInput) buffers[i]->read();
  }
  engine.device().synchronize(nullptr);
  return outputs;
}

// Takes candidate `turn` of every node (counted around), and remembers the texts and how many turns there are.
struct Turn {
  size_t turn = 0;
  size_t turns = 1;
  std::string taken;

  std::vector<compile::Candidate> operator()(std::vector<compile::Candidate> candidates) {
    if (candidates.empty()) return candidates;
    turns = std::max(turns, candidates.size());
    const auto chosen = candidates[turn % candidates.size()];
    taken += (taken.empty() ? "" : " ") + chosen.text();
    return {chosen};
  }
};

class CaseRun {
 public:
  CaseRun(const Case& c, std::string device)
      : case_(c), device_(std::move(device)), graph_(graph::parse(graphOf(c))), inputs_(inputsOf(c)) {}

  // Returns how many candidates there were.
  size_t run() {
    if (const auto refused = case_.refused.find(device_); refused != case_.refused.end()) {
      expectRefusal(refused->second);
      return 0;
    }
    const auto expected = graph::evaluate(graph_, views(inputs_));
    size_t turns = 1;
    for (size_t turn = 0; turn < turns; ++turn) {
      Turn choice{turn, 1, {}};
      try {
        compare(expected, runBy(choice), choice.taken);
      } catch (const std::exception& error) {
        ADD_FAILURE() << case_.text() << " by " << choice.taken << ": " << error.what();
      }
      turns = choice.turns;
    }
    return turns;
  }

 private:
  std::vector<HostTensor> runBy(Turn& choice) {
    RecordingLog log;
    compile::BuildOptions options;
    options.device = device_;
    options.log = &log;
    options.optimizationLevel = 0;
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.op.as<ops::Reformat>() != nullptr) return candidates;
      return choice(std::move(candidates));
    };
    const auto made = runtime::Engine::make(compile::build(graph_, options), {}, log);
    const auto engine = runtime::Engine::load(made->serialize(), {}, log);
    runtime::Context context(engine, {}, log);
    return runTwice(*engine, context, inputs_);
  }

  void compare(const std::vector<HostTensor>& expected, const std::vector<HostTensor>& got, const std::string& by) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto& want = expected[i].view();
      ASSERT_EQ(got[i].view().dims, want.dims) << case_.text() << " by " << by;
      EXPECT_LE(relativeError(got[i].view(), want), case_.tolerance != 0 ? case_.tolerance : toleranceOf(want.dtype))
          << case_.text() << " by " << by << ", output " << i;
    }
  }

  void expectRefusal(const std::string& text) {
    RecordingLog log;
    compile::BuildOptions options;
    options.device = device_;
    options.log = &log;
    options.optimizationLevel = 0;
    try {
      (void)compile::build(graph_, options);
      ADD_FAILURE() << case_.text() << ": it works on " << device_ << ", though the file says that it is refused";
    } catch (const Unsupported& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << case_.text() << ": " << error.what();
    }
  }

  const Case& case_;
  const std::string device_;
  const graph::Graph graph_;
  const std::vector<HostTensor> inputs_;
};

std::vector<std::string> caseFiles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_CASES)) {
    if (entry.path().extension() == ".cases") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Case> casesOf(const std::string& name) {
  const auto file = name + ".cases";
  std::stringstream text;
  text << std::ifstream(std::string(TENON_CASES) + "/" + file).rdbuf();
  return parseCases(file, text.str());
}

std::string whyAbsent(const std::string& kind) {
  std::string reasons = "no backend for it is built in";
  for (auto* backend : runtime::backends()) {
    reasons = backend->unavailable();
    if (reasons.empty() && backend->device().kind() == kind) return {};
  }
  return fmt::format("there is no device '{}' here: {}", kind, reasons);
}

class Cases : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Cases, EveryCandidateMatchesTheReference) {
  const auto& [name, device] = GetParam();
  if (const auto reason = whyAbsent(device); !reason.empty()) GTEST_SKIP() << reason;
  size_t runs = 0;
  for (const auto& c : casesOf(name)) runs += CaseRun(c, device).run();
  EXPECT_GT(runs, 0U);
  std::printf("%zu runs\n", runs);
}

INSTANTIATE_TEST_SUITE_P(Operators, Cases,
                         ::testing::Combine(::testing::ValuesIn(caseFiles()), ::testing::Values("cpu", "cuda")),
                         [](const auto& info) { return std::get<0>(info.param) + "_" + std::get<1>(info.param); });

int failuresOf(const Case& c) {
  using Reporter = testing::ScopedFakeTestPartResultReporter;
  testing::TestPartResultArray failures;
  const Reporter reporter(Reporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
  CaseRun(c, "cpu").run();
  return failures.size();
}

// What the runner finds: a candidate that computes something else, and a refusal that is none.
TEST(CaseFiles, WrongAnswersAndRefusalsAreSeen) {
  const auto wrong = parseCases("a.cases", "softmax{axis=1}\n  f32[3,5] ; tolerance=1e-30\n");
  EXPECT_GE(failuresOf(wrong[0]), 1);
  const auto works = parseCases("a.cases", "softmax{axis=1}\n  f32[3,5] ; refused cpu: no kernel\n");
  EXPECT_EQ(failuresOf(works[0]), 1);
}

TEST(CaseFiles, AreRead) {
  const auto cases = parseCases("a.cases", R"(# movement
gather{axis=0}
  $f[3,2] i64[4] ; index=3
concat{axis=1}
  f32[2,3]*2 \
    f32[2,1] ; positive tolerance=1e-3 refused cuda: has no kernel for it
fill{shape=[3,5] start=1.5}
  ()
)");
  ASSERT_EQ(cases.size(), 5U);
  EXPECT_EQ(cases[1].operands, (std::vector<std::string>{"f16[3,2]", "i64[4]"}));
  EXPECT_EQ(cases[1].indexLimit, 3);
  EXPECT_EQ(cases[3].operands, (std::vector<std::string>{"f32[2,3]", "f32[2,3]", "f32[2,1]"}));
  EXPECT_EQ(cases[3].place, "a.cases:6");
  EXPECT_TRUE(cases[3].positive);
  EXPECT_EQ(cases[3].tolerance, 1e-3);
  EXPECT_EQ(cases[3].refused.at("cuda"), "has no kernel for it");
  EXPECT_TRUE(cases[4].operands.empty());
}

TEST(CaseFiles, MistakesAreNamedWithTheirLine) {
  const auto messageOf = [](const char* text) -> std::string {
    try {
      (void)parseCases("a.cases", text);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(messageOf("# nothing\n"), "a.cases: the file has no cases");
  EXPECT_EQ(messageOf("  f32[2]\n"), "a.cases:1: operands without an operator in front of them");
  EXPECT_EQ(messageOf("nonsense{}\n  f32[2]\n").rfind("a.cases:1: the operator: ", 0), 0U);
  EXPECT_EQ(messageOf("matmul\n  f32[2,3] f32[2,3]\n").rfind("a.cases:2: the operands: ", 0), 0U);
  EXPECT_EQ(messageOf("matmul\n  f32[2,3] f32[3,2] ; quick\n").rfind("a.cases:2: unknown fact 'quick'", 0), 0U);
  EXPECT_EQ(messageOf("matmul\n  f32[2,3]*x\n"), "a.cases:2: 'x' is no number");
}

}  // namespace
}  // namespace tenon::test
