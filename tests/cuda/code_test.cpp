// All code for GPUs goes through NVRTC for every chip, which needs no GPU; and the cache of compiled code.
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include "backends/cuda/driver/code_cache.h"
#include "backends/cuda/driver/compilers.h"
#include "backends/cuda/kernels/common/kernel_row.h"
#include "backends/cuda/kernels/pointwise/pointwise_code.h"
#include "cases/cases.h"
#include "compile/assignment.h"
#include "cuda/variable.h"
#include "graph/graph.h"
#include "ops/op/pointwise.h"
#include "ops/op/pointwise_reduce.h"
#include "ops/op/recurrent.h"
#include "ops/sibling_reductions.h"

namespace tenon::test {
namespace {

constexpr int kChips[] = {80, 86, 89, 90, 100, 120};

// Sources of every kernel of every operator case, by the kernel's name, also of those that are switched off.
std::map<std::string, std::vector<std::string>> allSources() {
  const Variable warpgroups("TENON_CUDA_WARPGROUPS", "1");
  std::map<std::string, std::set<std::string>> sources;
  const auto consider = [&](const compile::Problem& problem, const compile::Tactic& tactic) {
    if (tactic.name().starts_with("cuda.cudnn")) return;  // tactics of libraries ask a GPU for their candidates
    for (const auto& row : backends::cuda::kernelTable()) {
      if (row.code == nullptr || tactic.name() != "cuda." + std::string(row.name) || !tactic.supports(problem))
        continue;
      for (const auto& candidate : tactic.candidates(problem))
        sources[std::string(row.name)].insert(row.code(tactic.build(problem, candidate)).source());
    }
  };
  for (const auto& file : caseFiles()) {
    for (const auto& c : casesOf(file)) {
      const auto graph = graph::parse(graphOf(c));
      const auto problem = compile::makeProblem(graph, graph.node(graph.order()[0]), {});
      for (const auto& source : compile::tacticSources()) {
        if (source.backend != "cuda") continue;
        for (const auto* tactic : source.tactics) consider(problem, *tactic);
      }
    }
  }
  std::map<std::string, std::vector<std::string>> result;
  // Two forms of each tell most; all of them would take minutes.
  constexpr size_t kForms = 2;
  for (const auto& [name, texts] : sources) {
    const std::vector<std::string> all(texts.begin(), texts.end());
    for (size_t i = 0; i < std::min(kForms, all.size()); ++i)
      result[name].push_back(all[i * all.size() / std::min(kForms, all.size())]);
  }
  return result;
}

// Each kernel in one form for the chips that tell all branches apart: 80, and 90, whose warpgroups no other has. The
// other chips take turns at its other form.
TEST(Code, EveryKernelCompilesForEveryChip) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  size_t turn = 0;
  for (const auto& [name, sources] : allSources()) {
    for (size_t i = 0; i < sources.size(); ++i) {
      constexpr int kOthers[] = {86, 89, 100, 120};
      const std::vector<int> chips = i == 0 ? std::vector{80, 90} : std::vector{kOthers[turn++ % std::size(kOthers)]};
      for (const int chip : chips) {
        try {
          EXPECT_FALSE(backends::cuda::compile(sources[i], chip).empty());
        } catch (const std::exception& error) {
          ADD_FAILURE() << name << " for " << chip << ": " << error.what() << "\n" << sources[i].substr(0, 400);
        }
      }
    }
  }
}

// Of the list only what has elements of four bits is left to the host, recurrent networks of which a pass of the CPU
// alone makes such nodes, as it does of several reductions of one tensor, and convolutions of bytes, which a pass of
// GPUs writes as others.
TEST(Code, EveryOperatorHasAKernel) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  for (const auto& file : caseFiles()) {
    for (const auto& c : casesOf(file)) {
      const auto graph = graph::parse(graphOf(c));
      const auto problem = compile::makeProblem(graph, graph.node(graph.order()[0]), {});
      std::string refusals;
      bool found = false;
      for (const auto* tactic : compile::tacticsOf("cuda")) {
        if (tactic->name().starts_with("cuda.cudnn") || tactic->name() == "cuda.host_evaluate") continue;
        const auto support = tactic->supports(problem);
        found = found || support;
        if (!support && support.reason.find("it computes") == std::string::npos)
          refusals += fmt::format("\n  {}: {}", tactic->name(), support.reason);
      }
      const bool isNarrow = std::any_of(problem.outputs.begin(), problem.outputs.end(),
                                        [](const auto& output) { return bits(output.dtype) < 8; });
      const auto* const recurrent = problem.op.as<ops::Recurrent>();
      const auto* const reduction = problem.op.as<ops::PointwiseReduce>();
      const bool isOfIntegers = reduction != nullptr && !isFloating(problem.outputs[0].dtype);
      const bool areSiblings = problem.op.name() == "composite" && !ops::siblingReductions(problem.op).empty();
      const bool isOfCpu = areSiblings || (recurrent != nullptr && recurrent->takesInput) || isOfIntegers ||
                           problem.op.name() == "byte_convolution" || problem.op.name() == "byte_matmul";
      EXPECT_NE(found, isNarrow || isOfCpu) << c.text() << refusals;
    }
  }
}

// Every scalar operator in both classes of arithmetic; every chip sees some of them.
TEST(Code, EveryScalarOperatorCompiles) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  constexpr size_t kParts = 6;
  size_t chip = 0;
  for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kI32}) {
    const std::vector<DataType> types(3, type);
    for (size_t part = 0; part < kParts; ++part) {
      ops::ScalarExpr some;
      for (size_t i = part; i < ops::scalarTable().size(); i += kParts) {
        const auto op = static_cast<ops::ScalarOp>(i);
        if (ops::row(op).result == ops::ScalarResult::kInteger && isFloating(type)) continue;
        some.instructions.push_back(ops::ScalarExpr::of(op).instructions[0]);
      }
      some.instructions.push_back(ops::ScalarExpr::castTo(type).instructions[0]);
      const auto source = backends::cuda::pointwiseSource(some, types, type);
      EXPECT_FALSE(backends::cuda::compile(source, kChips[chip++ % std::size(kChips)]).empty());
    }
  }
}

// Whatever a kernel may include is there by the name with which it is included, and the cache notices its changes.
TEST(Code, IncludedFilesAreEmbeddedAndPartOfTheKey) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  const std::string key = backends::cuda::codeKey("", 90);
  std::set<std::string> names;
  for (const auto& file : backends::cuda::embeddedFiles()) names.insert(file.name);
  const std::regex include("#include [\"<]([^\">]+)[\">]");
  for (const auto& file : backends::cuda::embeddedFiles()) {
    EXPECT_NE(key.find(file.text), std::string::npos) << file.name;
    const std::string text = file.text;
    for (std::sregex_iterator found(text.begin(), text.end(), include), end; found != end; ++found)
      EXPECT_TRUE(names.contains((*found)[1])) << file.name << " includes " << (*found)[1];
  }
  EXPECT_TRUE(names.contains("backends/cuda/kernels/common/space_parameters.h"));
}

// What a launch passes is declared once, in a header that the host's compiler and NVRTC read.
TEST(Code, ParametersOfKernelsAreDeclaredInSharedHeaders) {
  const std::regex parameters("struct \\w*Parameters\\b");
  size_t shared = 0;
  for (const auto& file : backends::cuda::embeddedFiles()) {
    const bool declares = std::regex_search(file.text, parameters);
    const bool isShared = std::string_view(file.name).ends_with("_parameters.h");
    EXPECT_TRUE(isShared || !declares) << file.name << " declares parameters of its own";
    shared += declares;
  }
  EXPECT_GE(shared, 10u);
}

// NVRTC's own lock is one of each copy; each copy gives the same code, on threads side by side.
TEST(Code, CopiesOfTheCompilerAgree) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  using backends::cuda::Compilers;
  Compilers one(1, 1);
  Compilers several(3, 1);
  const char* source = "extern \"C\" __global__ void k(int* x) { *x = 7; }";
  const auto codeOf = [&](const backends::cuda::Nvrtc& n) {
    nvrtcProgram program = nullptr;
    std::string code;
    size_t size = 0;
    const char* options[] = {"--gpu-architecture=sm_90a"};
    if (n.createProgram(&program, source, "k.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) return code;
    if (n.compileProgram(program, 1, options) == NVRTC_SUCCESS && n.getCubinSize(program, &size) == NVRTC_SUCCESS) {
      code.resize(size);
      n.getCubin(program, code.data());
    }
    n.destroyProgram(&program);
    return code;
  };
  const Compilers::Lease first(one);
  const Compilers::Lease second(one);
  EXPECT_EQ(&*first, &*second);
  const auto expected = codeOf(*first);
  ASSERT_FALSE(expected.empty());
  const Compilers::Lease a(several);
  const Compilers::Lease b(several);
  const Compilers::Lease c(several);
  const Compilers::Lease d(several);  // shares one
  EXPECT_EQ((std::set{&*a, &*b, &*c, &*d}).size(), 3u);
  EXPECT_EQ((std::set{(*a).compileProgram, (*b).compileProgram, (*c).compileProgram}).size(), 3u)
      << "one after another";
  std::vector<std::string> codes(8);
  std::vector<std::thread> threads;
  const backends::cuda::Nvrtc* const copies[] = {&*a, &*b, &*c};
  for (size_t i = 0; i < codes.size(); ++i)
    threads.emplace_back([&, i] { codes[i] = codeOf(*copies[i % std::size(copies)]); });
  for (auto& thread : threads) thread.join();
  for (const auto& code : codes) EXPECT_EQ(code, expected);
}

// A copy that has compiled something is believed what it refuses.
TEST(Code, CopiesOfTheCompilerAreTrusted) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  using backends::cuda::Compilers;
  Compilers several(2, 1);
  const Compilers::Lease original(several);
  EXPECT_EQ(&*original, &backends::cuda::nvrtc());
  EXPECT_TRUE(original.isTrusted());
  {
    Compilers::Lease copy(several);
    EXPECT_NE(&*copy, &*original);
    EXPECT_FALSE(copy.isTrusted());
    copy.trust();
  }
  EXPECT_TRUE(Compilers::Lease(several).isTrusted());
}

TEST(Code, OneCompilerIsEnough) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  using backends::cuda::Compilers;
  rlimit files{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{0, files.rlim_max};
  Compilers several(3, 1);
  const Compilers::Lease a(several);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Compilers::Lease b(several);  // there is no file in memory
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  const Compilers::Lease c(several);  // and none is asked for again
  EXPECT_EQ(&*a, &*b);
  EXPECT_EQ(&*a, &*c);
  EXPECT_EQ(&*a, &backends::cuda::nvrtc());
}

TEST(Code, CacheKeepsAndForgives) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  const auto folder = std::filesystem::temp_directory_path() / "tenon_code_cache_test";
  std::filesystem::remove_all(folder);
  const char* before = std::getenv("TENON_CACHE_DIR");
  const std::string restore = before != nullptr ? before : "";
  setenv("TENON_CACHE_DIR", folder.c_str(), 1);
  const std::string source = "#include \"prelude.cuh\"\nstruct P { int x; };\nKERNEL(k, P) {}\n";
  const auto first = backends::cuda::compile(source, 90);
  const auto entries = [&] {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "kernels")) paths.push_back(entry.path());
    return paths;
  };
  ASSERT_EQ(entries().size(), 1u);
  EXPECT_EQ(backends::cuda::compile(source, 90), first);
  EXPECT_NE(backends::cuda::compile(source, 80), first);
  EXPECT_EQ(entries().size(), 2u);
  // A process compiles once whatever happens to the files; another one takes them only undamaged.
  backends::cuda::writeCachedCode("key", first);
  EXPECT_EQ(backends::cuda::readCachedCode("key"), first);
  EXPECT_TRUE(backends::cuda::readCachedCode("another key").empty());
  for (const auto& path : entries()) std::ofstream(path, std::ios::app) << "damage";
  EXPECT_TRUE(backends::cuda::readCachedCode("key").empty());
  EXPECT_EQ(backends::cuda::compile(source, 90), first);
  setenv("TENON_CACHE_DIR", "/proc/no/such/folder", 1);
  EXPECT_EQ(backends::cuda::compile(source, 90), first);
  if (before != nullptr) {
    setenv("TENON_CACHE_DIR", restore.c_str(), 1);
  } else {
    unsetenv("TENON_CACHE_DIR");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tenon::test
