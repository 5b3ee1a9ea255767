// What an engine opens before its kernels are loaded: the vendor's libraries where it has kernels of theirs, and no
// others. In a process of its own, in which nothing else has opened them.
#include "runtime/ahead.h"

#include <dlfcn.h>

#include <optional>

#include "cuda/on_gpu.h"
#include "runtime/kernel.h"

namespace tenon::test {
namespace {

constexpr const char* kProduct = R"g(graph "product" {
  input %x : f32[5,48]
  const %w : f32[48,33] = random(1)
  %p : f32[5,33] = matmul(%x, %w) "product"
  %y : f32[5,33] = softmax{axis=1}(%p) "softmax"
  output %y
})g";

bool isOpen(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

// How often cuBLASLt was asked for algorithms; nothing where it does not count.
std::optional<unsigned long> questions() {
  void* const handle = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
  auto* const count =
      handle == nullptr ? nullptr : reinterpret_cast<unsigned long (*)()>(dlsym(handle, "emulatedQuestions"));
  if (handle != nullptr) dlclose(handle);
  return count == nullptr ? std::nullopt : std::optional(count());
}

runtime::Ahead& face() {
  for (auto* backend : runtime::backends()) {
    if (backend->name() == "cuda") return dynamic_cast<runtime::Ahead&>(*backend);
  }
  throw InternalError("there is no backend cuda");
}

size_t pieces(const std::vector<std::string>& names) {
  std::vector<plan::KernelRecord> records;
  for (const auto& name : names) records.push_back({"cuda", name, 1, "", "", -1});
  std::vector<const plan::KernelRecord*> pointers;
  for (const auto& record : records) pointers.push_back(&record);
  return face().ahead(pointers).size();
}

TEST(Ahead, LibrariesOfTheKernelsThatAreThere) {
  EXPECT_EQ(pieces({}), 0u);
  EXPECT_EQ(pieces({"softmax", "mma90_product", "pointwise"}), 0u);
  EXPECT_EQ(pieces({"softmax", "cublaslt_matmul", "cublaslt_matmul"}), 1u);
  EXPECT_EQ(pieces({"cudnn_convolution"}), 1u);
  EXPECT_EQ(pieces({"cublaslt_matmul", "cudnn_convolution"}), 2u);
}

TEST(Ahead, EnginesOpenWhatTheirKernelsNeed) {
  const auto& reason = backends::cuda::unavailableReason();
  if (!reason.empty()) GTEST_SKIP() << reason;
  const char* const kLibrary = "libcublasLt.so.13";
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = 0;
  options.log = &log;
  const auto graph = graph::parse(kProduct);
  std::vector<HostTensor> inputs;
  inputs.push_back(randomTensor(DataType::kF32, {5, 48}, 3));
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto check = [&](const plan::Plan& plan) {
    const auto got = runOnGpu(plan, inputs).outputs;
    EXPECT_LE(relativeError(got[0].view(), expected[0].view()), 1e-5);
  };
  options.excludedLibraries = {"cublaslt", "cudnn"};
  check(compile::build(graph, options));
  EXPECT_FALSE(isOpen(kLibrary)) << "an engine of own kernels opened it";
  options.excludedLibraries = {"cudnn"};
  options.filter = [](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.name() == "matmul")
      std::erase_if(candidates, [](const auto& c) { return !c.tactic.starts_with("cuda.cublaslt"); });
    return candidates;
  };
  const auto plan = compile::build(graph, options);
  EXPECT_TRUE(isOpen(kLibrary));
  const auto before = questions();
  check(plan);
  if (!before) return;
  EXPECT_EQ(*questions(), *before) << "the plan has the algorithms: neither opening nor kernels ask for others";
}

}  // namespace
}  // namespace tenon::test
