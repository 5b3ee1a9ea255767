// Formats are changed by the device's own tactic for that, so that samples of all candidates lie in one order.
#include "compile/tune/result_check.h"

#include <algorithm>

#include "compile/tune/self_check.h"
#include "core/error.h"
#include "core/storage.h"
#include "ops/op/reformat.h"
#include "runtime/configure.h"

namespace tenon::compile {
namespace {

constexpr int64_t kChunks = 16;  // of a large tensor
constexpr int64_t kChunkElements = 1024;

// The elements that are looked at: first and length of each run.
std::vector<std::pair<int64_t, int64_t>> runsOf(int64_t count, DataType dtype) {
  if (count <= kChunks * kChunkElements) return {{0, count}};
  std::vector<std::pair<int64_t, int64_t>> runs;
  const int64_t last = count - kChunkElements;
  for (int64_t k = 0; k < kChunks; ++k) {
    const int64_t first = last * k / (kChunks - 1);
    runs.emplace_back(bits(dtype) < 8 ? first / 8 * 8 : first, kChunkElements);  // elements begin at whole bytes
  }
  return runs;
}

class Scratch {
 public:
  Scratch(runtime::Device& device, size_t bytes)
      : device_(device), data_(device.allocate(std::max<size_t>(bytes, 1), 256)) {}
  ~Scratch() { device_.free(data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data() const { return data_; }

 private:
  runtime::Device& device_;
  void* data_;
};

}  // namespace

struct ResultCheck::Converter {
  plan::KernelRecord record;
  std::vector<std::byte> code;
  std::unique_ptr<runtime::Kernel> kernel;
  std::unique_ptr<runtime::KernelInstance> instance;
  std::unique_ptr<Scratch> workspace;
};

ResultCheck::ResultCheck(runtime::Device& device, Log& log) : device_(device), log_(log) {}

ResultCheck::~ResultCheck() = default;

void ResultCheck::clear() {
  expected_.clear();
  converters_.clear();
}

ResultCheck::Converter* ResultCheck::converter(const TensorDesc& tensor, Layout from, Layout to) {
  const auto key = fmt::format("{} {} {} {}", name(tensor.dtype), tensor.dims.text(), name(from), name(to));
  const auto found = converters_.find(key);
  if (found != converters_.end()) return found->second.get();
  auto& place = converters_[key];
  const ops::Operator op = ops::Reformat{from, to};
  const Problem problem{op, {{tensor.dtype, tensor.dims, nullptr}}, {{tensor.dtype, tensor.dims, nullptr}}, {}};
  for (const auto* tactic : tacticsOf(device_.kind())) {
    if (!tactic->supports(problem)) continue;
    for (const auto& candidate : tactic->candidates(problem)) {
      if (candidate.inputs[0] != from || candidate.outputs[0] != to) continue;
      auto made = std::make_unique<Converter>();
      made->record = tactic->build(problem, candidate);
      made->code = tactic->nativeCode(problem, candidate, made->record);
      const std::vector<TensorView> constants(1);
      made->kernel = runtime::backend(made->record.backend).load({made->record, constants, made->code, log_});
      made->instance = made->kernel->instantiate();
      const std::vector<runtime::TensorShape> in{{tensor.dtype, tensor.dims, from}};
      const std::vector<runtime::TensorShape> out{{tensor.dtype, tensor.dims, to}};
      made->workspace =
          std::make_unique<Scratch>(device_, runtime::configure(*made->instance, {in, out, &problem.symbols}));
      place = std::move(made);
      return place.get();
    }
  }
  return nullptr;
}

bool ResultCheck::convert(const TensorDesc& tensor, Layout from, Layout to, const void* source, void* target) {
  if (from == to) {
    device_.copy(target, source, storageBytes(tensor.dtype, tensor.dims, from), runtime::CopyKind::kDeviceToDevice,
                 nullptr);
    device_.synchronize(nullptr);
    return true;
  }
  auto* by = converter(tensor, from, to);
  if (by == nullptr) return false;
  void* const inputs[] = {const_cast<void*>(source)};
  void* const outputs[] = {target};
  by->instance->launch({inputs, outputs, by->workspace->data(), nullptr});
  device_.synchronize(nullptr);
  return true;
}

bool ResultCheck::sample(const TensorDesc& tensor, Layout format, const void* data, std::vector<std::byte>& into) {
  std::unique_ptr<Scratch> linear;
  if (format != Layout::kLinear) {
    linear = std::make_unique<Scratch>(device_, storageBytes(tensor.dtype, tensor.dims, Layout::kLinear));
    if (!convert(tensor, format, Layout::kLinear, data, linear->data())) return false;
    data = linear->data();
  }
  const auto runs = runsOf(tensor.dims.count(), tensor.dtype);
  size_t total = 0;
  for (const auto& [first, length] : runs) total += bytesOf(tensor.dtype, length);
  into.resize(total);
  size_t at = 0;
  for (const auto& [first, length] : runs) {
    const auto bytes = bytesOf(tensor.dtype, length);
    device_.copy(into.data() + at, static_cast<const std::byte*>(data) + bytesOf(tensor.dtype, first), bytes,
                 runtime::CopyKind::kDeviceToHost, nullptr);
    at += bytes;
  }
  device_.synchronize(nullptr);
  return true;
}

void ResultCheck::expect(const Problem& problem, const Candidate& candidate, std::span<void* const> outputs) {
  expected_.resize(problem.outputs.size());
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    if (sample(problem.outputs[i], candidate.outputs[i], outputs[i], expected_[i])) continue;
    expected_.clear();
    return;
  }
}

std::string ResultCheck::compare(const Problem& problem, const Candidate& candidate, std::span<void* const> outputs) {
  std::vector<std::byte> got;
  for (size_t i = 0; i < expected_.size(); ++i) {
    const auto& tensor = problem.outputs[i];
    if (!sample(tensor, candidate.outputs[i], outputs[i], got)) return {};
    const int64_t count = std::min(tensor.dims.count(), kChunks * kChunkElements);
    const TensorView mine{got.data(), tensor.dtype, {count}};
    const TensorView wanted{expected_[i].data(), tensor.dtype, {count}};
    auto difference = compareResults(mine, wanted, i, Tolerance::ofCandidates(tensor.dtype, problem.tf32));
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace tenon::compile
