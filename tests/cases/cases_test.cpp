// Every case by every candidate of every device, after a way through the serialized plan, beside the reference.
#include <gtest/gtest-spi.h>

#include <deque>

#include "cases/cases.h"
#include "cases/turn.h"
#include "cuda/variable.h"
#include "runtime/kernel.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

// A tensor's memory on a device, `offset` bytes behind what is aligned; what of it nobody writes is no zero.
class Buffer {
 public:
  Buffer(runtime::Device& device, const TensorView& view, size_t offset)
      : device_(device), view_(view), offset_(offset), memory_(device.allocate(view.bytes() + offset, 256)) {
    device_.copy(data(), view_.data, view_.bytes(), runtime::CopyKind::kHostToDevice, nullptr);
  }
  ~Buffer() { device_.free(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* data() const { return static_cast<char*>(memory_) + offset_; }
  void read() { device_.copy(view_.data, data(), view_.bytes(), runtime::CopyKind::kDeviceToHost, nullptr); }

 private:
  runtime::Device& device_;
  TensorView view_;
  size_t offset_;
  void* memory_;
};

// Executions with tensors of their own, which begin where memory is aligned, or one element behind, as slices of a
// caller's arrays do.
std::vector<HostTensor> execute(const runtime::Engine& engine, runtime::Context& context,
                                const std::vector<HostTensor>& inputs, bool isOdd, int times) {
  std::vector<HostTensor> outputs;
  std::deque<Buffer> buffers;
  outputs.reserve(engine.io().size());
  size_t next = 0;
  for (size_t i = 0; i < engine.io().size(); ++i) {
    const auto& io = engine.io()[i];
    if (!io.isInput) {
      outputs.emplace_back(io.dtype, context.shape(static_cast<int>(i)));
      std::memset(outputs.back().view().data, 0x7b, outputs.back().view().bytes());
    }
    const auto& view = io.isInput ? inputs.at(next++).view() : outputs.back().view();
    buffers.emplace_back(engine.device(), view, isOdd ? static_cast<size_t>(bits(view.dtype) / 8) : 0);
    context.setAddress(static_cast<int>(i), buffers.back().data());
  }
  engine.device().synchronize(nullptr);
  for (int i = 0; i < times; ++i) context.enqueue(nullptr);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!engine.io()[i].isInput) buffers[i].read();
  }
  engine.device().synchronize(nullptr);
  return outputs;
}

// Libraries of a GPU are told how memory is aligned when they are asked for candidates.
bool takesOddAddresses(const std::string& candidate) {
  return candidate.find("cuda.cudnn") == std::string::npos && candidate.find("cuda.cublas") == std::string::npos;
}

// A GPU whose kernels run on the host, which takes their time.
bool isEmulated() { return std::getenv("TENON_TEST_EMULATED") != nullptr; }

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
      Turn choice{turn, 1, {}, isEmulated() ? case_.by : std::string()};
      std::string wrong;
      try {
        wrong = difference(choice, expected);
      } catch (const std::exception& error) {
        if (choice.taken.empty() && wantedCandidates() != nullptr) return 0;
        wrong = error.what();
      }
      report(choice.taken, wrong);
      turns = choice.turns;
    }
    return turns;
  }

 private:
  // What is wrong with a candidate's results; empty: nothing.
  std::string difference(Turn& choice, const std::vector<HostTensor>& expected) {
    RecordingLog log;
    compile::BuildOptions options;
    options.device = device_;
    options.log = &log;
    options.optimizationLevel = 0;
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      return choice(node, std::move(candidates));
    };
    const auto made = runtime::Engine::make(compile::build(graph_, options), {}, log);
    const auto engine = runtime::Engine::load(made->serialize(), {}, log);
    runtime::Context context(engine, {}, log);
    // Twice from the same context: the second execution finds what the first has left, or replays it.
    auto wrong = compare(expected, execute(*engine, context, inputs_, false, 2), choice.taken);
    if (!wrong.empty() || !takesOddAddresses(choice.taken)) return wrong;
    try {
      wrong = compare(expected, execute(*engine, context, inputs_, true, 1), choice.taken);
      return wrong.empty() ? wrong : "at odd addresses: " + wrong;
    } catch (const UserError& error) {
      const std::string message = error.what();
      if (message.find(" aligned to ") == std::string::npos) throw;
      return {};  // it says that it does not take them
    }
  }

  std::string compare(const std::vector<HostTensor>& expected, const std::vector<HostTensor>& got,
                      const std::string& by) const {
    if (got.size() != expected.size()) return fmt::format("{} outputs, expected {}", got.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto& want = expected[i].view();
      if (got[i].view().dims != want.dims)
        return fmt::format("output {} is {}, expected {}", i, got[i].view().dims.text(), want.dims.text());
      if (case_.drawn) continue;
      const double error = relativeError(got[i].view(), want);
      const double limit = case_.toleranceOf(want.dtype);
      const bool isRight = error <= limit;
      std::printf("%-5s error %.2e of %.0e  %s by %s\n", isRight ? "right" : "WRONG", error, limit,
                  case_.text().c_str(), by.c_str());
      if (!isRight) return fmt::format("output {} differs by {:.2e}, {:.0e} is allowed", i, error, limit);
    }
    return {};
  }

  void report(const std::string& candidate, const std::string& wrong) const {
    const auto known = case_.fails.find(device_);
    if (known == case_.fails.end() || !candidate.starts_with(known->second.candidate)) {
      if (!wrong.empty()) ADD_FAILURE() << case_.text() << " by " << candidate << ": " << wrong;
    } else if (wrong.empty()) {
      ADD_FAILURE() << case_.text() << " by " << candidate
                    << " is right, though the file says that it fails: " << known->second.reason;
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

std::string whyAbsent(const std::string& kind) {
  std::string reasons = "no backend for it is built in";
  for (auto* backend : runtime::backends()) {
    reasons = backend->unavailable();
    if (reasons.empty() && backend->device().kind() == kind) return {};
  }
  return fmt::format("there is no device '{}' here: {}", kind, reasons);
}

// TENON_TEST_PART=2/8 takes the second case of each eight, so that several programs share the cases of a file.
std::vector<Case> partOf(std::vector<Case> cases) {
  const char* const wanted = std::getenv("TENON_TEST_PART");
  if (wanted == nullptr) return cases;
  size_t part = 0, parts = 0;
  if (std::sscanf(wanted, "%zu/%zu", &part, &parts) != 2 || part < 1 || part > parts)
    throw UserError("TENON_TEST_PART is '{}', expected a part and the number of parts, as 2/8", wanted);
  std::vector<Case> result;
  for (size_t i = part - 1; i < cases.size(); i += parts) result.push_back(std::move(cases[i]));
  return result;
}

class Cases : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Cases, EveryCandidateMatchesTheReference) {
  const auto& [name, device] = GetParam();
  if (const auto reason = whyAbsent(device); !reason.empty()) {
    if (isEmulated()) FAIL() << "the emulated GPU does not answer: " << reason;
    GTEST_SKIP() << reason;
  }
  size_t runs = 0;
  const auto cases = partOf(casesOf(name));
  for (const auto& c : cases) runs += CaseRun(c, device).run();
  EXPECT_TRUE(runs > 0 || cases.empty() || wantedCandidates() != nullptr);
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

// What the runner finds: a candidate that computes something else, and refusals and expected failures that are none.
TEST(CaseFiles, WrongAnswersAndRefusalsAreSeen) {
  const auto wrong = parseCases("a.cases", "softmax{axis=1}\n  f32[3,5] ; tolerance=1e-30\n");
  EXPECT_GE(failuresOf(wrong[0]), 1);
  const auto works = parseCases("a.cases", "softmax{axis=1}\n  f32[3,5] ; refused cpu: no kernel\n");
  EXPECT_EQ(failuresOf(works[0]), 1);
  const auto known = parseCases("a.cases", "softmax{axis=1}\n  f32[3,5] ; tolerance=1e-30 fails cpu cpu: it rounds\n");
  EXPECT_EQ(failuresOf(known[0]), 0);
  const auto right = parseCases("a.cases", "softmax{axis=1}\n  f32[3,5] ; fails cpu cpu: it rounds\n");
  EXPECT_GE(failuresOf(right[0]), 1);
  const auto other = parseCases("a.cases", "softmax{axis=1}\n  f32[3,5] ; fails cpu gpu: it rounds\n");
  EXPECT_EQ(failuresOf(other[0]), 0);
}

TEST(CaseFiles, HaveParts) {
  std::vector<Case> cases(7);
  for (size_t i = 0; i < cases.size(); ++i) cases[i].place = std::to_string(i);
  std::string places;
  for (const char* part : {"1/3", "2/3", "3/3"}) {
    const Variable wanted("TENON_TEST_PART", part);
    for (const auto& c : partOf(cases)) places += c.place;
    places += ' ';
  }
  EXPECT_EQ(places, "036 14 25 ");
  for (const char* part : {"0/3", "4/3", "1", "x"}) {
    const Variable wanted("TENON_TEST_PART", part);
    EXPECT_THROW((void)partOf(cases), UserError) << part;
  }
  EXPECT_EQ(partOf(cases).size(), cases.size());
}

// How many candidates a case has on the CPU: of those with the text, or of all where none has it or no GPU is emulated.
TEST(CaseFiles, CandidatesAreChosenByText) {
  const auto runs = [](const std::string& fact) {
    const auto cases = parseCases("a.cases", "matmul\n  f32[3,5] f32[5,7]" + fact + "\n");
    return CaseRun(cases[0], "cpu").run();
  };
  const size_t all = runs("");
  EXPECT_EQ(runs(" ; by=ref."), all);
  const Variable emulated("TENON_TEST_EMULATED", "1");
  EXPECT_GT(all, 1U);
  EXPECT_EQ(runs(" ; by=no_such_kernel"), all);
  EXPECT_LT(runs(" ; by=ref."), all);
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
random{shape=[5]}
  () ; drawn
nms{most=40}
  f32[2,97,4] f32[2,97,3] i32[] f32[]*2 ; by=cuda.nms values=20,0.5,-0.5 fails cuda cuda.nms: an order of ties
)");
  ASSERT_EQ(cases.size(), 7U);
  EXPECT_EQ(cases[1].operands, (std::vector<std::string>{"f16[3,2]", "i64[4]"}));
  EXPECT_EQ(cases[1].indexLimit, 3);
  EXPECT_EQ(cases[3].operands, (std::vector<std::string>{"f32[2,3]", "f32[2,3]", "f32[2,1]"}));
  EXPECT_EQ(cases[3].place, "a.cases:6");
  EXPECT_TRUE(cases[3].positive);
  EXPECT_EQ(cases[3].tolerance, 1e-3);
  EXPECT_EQ(cases[3].refused.at("cuda"), "has no kernel for it");
  EXPECT_TRUE(cases[4].operands.empty());
  EXPECT_TRUE(cases[5].drawn);
  EXPECT_EQ(cases[6].scalars, (std::vector<double>{20, 0.5, -0.5}));
  EXPECT_EQ(cases[6].by, "cuda.nms");
  EXPECT_EQ(cases[6].fails.at("cuda").candidate, "cuda.nms");
  EXPECT_EQ(cases[6].fails.at("cuda").reason, "an order of ties");
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
  EXPECT_EQ(messageOf("softmax{axis=0}\n  f32[2] ; values=1,,2\n"), "a.cases:2: '' is no number");
  EXPECT_EQ(messageOf("softmax{axis=0}\n  f32[2] ; refused cuda\n"), "a.cases:2: expected 'refused DEVICE: TEXT'");
  EXPECT_EQ(messageOf("softmax{axis=0}\n  f32[2] ; fails cuda: why\n"),
            "a.cases:2: expected 'fails DEVICE CANDIDATE: WHY'");
}

}  // namespace
}  // namespace tenon::test
