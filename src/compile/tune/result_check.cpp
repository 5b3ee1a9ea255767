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

}  // namespace

class ResultCheck::Scratch {
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

// Of one output: the whole on the device, or a part on the host.
struct ResultCheck::Expected {
  std::unique_ptr<Scratch> whole;
  std::vector<std::byte> sample;
};

struct ResultCheck::Converter {
  plan::KernelRecord record;
  std::vector<std::byte> code;
  std::unique_ptr<runtime::Kernel> kernel;
  std::unique_ptr<runtime::KernelInstance> instance;
  std::unique_ptr<Scratch> workspace;
};

void prepare(runtime::Device& device, DataType dtype, Comparison part) {
  if (part == Comparison::kDistance) {
    auto* const distances = dynamic_cast<runtime::TensorDistances*>(&device);
    if (distances != nullptr && distances->measures(dtype)) distances->prepare(dtype);
    return;
  }
  // Whatever the extents are, formats change by the same code.
  const ops::Operator op = ops::Reformat{Layout::kChannelsLast, Layout::kLinear};
  const TensorDesc some{dtype, {1, 1, 1, 1}, nullptr};
  const Problem problem{op, {some}, {some}, {}};
  for (const auto* tactic : tacticsOf(device.kind())) {
    if (!tactic->supports(problem)) continue;
    for (const auto& candidate : tactic->candidates(problem))
      tactic->nativeCode(problem, candidate, tactic->build(problem, candidate));
    return;
  }
}

ResultCheck::ResultCheck(runtime::Device& device, Log& log)
    : device_(device), distances_(dynamic_cast<runtime::TensorDistances*>(&device)), log_(log) {}

ResultCheck::~ResultCheck() = default;

bool ResultCheck::expects() const { return !expected_.empty(); }

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

const void* ResultCheck::linear(const TensorDesc& tensor, Layout format, const void* data,
                                std::unique_ptr<Scratch>& memory) {
  if (format == Layout::kLinear) return data;
  memory = std::make_unique<Scratch>(device_, storageBytes(tensor.dtype, tensor.dims, Layout::kLinear));
  return convert(tensor, format, Layout::kLinear, data, memory->data()) ? memory->data() : nullptr;
}

std::vector<std::byte> ResultCheck::sample(const TensorDesc& tensor, const void* data) {
  const auto runs = runsOf(tensor.dims.count(), tensor.dtype);
  size_t total = 0;
  for (const auto& [first, length] : runs) total += bytesOf(tensor.dtype, length);
  std::vector<std::byte> result(total);
  size_t at = 0;
  for (const auto& [first, length] : runs) {
    const auto bytes = bytesOf(tensor.dtype, length);
    device_.copy(result.data() + at, static_cast<const std::byte*>(data) + bytesOf(tensor.dtype, first), bytes,
                 runtime::CopyKind::kDeviceToHost, nullptr);
    at += bytes;
  }
  device_.synchronize(nullptr);
  return result;
}

// Whether a copy of the whole serves later comparisons.
bool ResultCheck::keepWhole(const TensorDesc& tensor, Layout format, const void* data, Expected& expected) {
  if (distances_ == nullptr || !distances_->measures(tensor.dtype)) return false;
  try {
    expected.whole = std::make_unique<Scratch>(device_, storageBytes(tensor.dtype, tensor.dims, Layout::kLinear));
  } catch (const OutOfMemory&) {
    return false;
  }
  if (convert(tensor, format, Layout::kLinear, data, expected.whole->data())) return true;
  expected.whole.reset();
  return false;
}

void ResultCheck::expect(const Problem& problem, const Candidate& candidate, std::span<void* const> outputs) {
  expected_.clear();
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    const auto& tensor = problem.outputs[i];
    auto& expected = expected_.emplace_back();
    if (keepWhole(tensor, candidate.outputs[i], outputs[i], expected)) continue;
    std::unique_ptr<Scratch> memory;
    if (const auto* data = linear(tensor, candidate.outputs[i], outputs[i], memory); data != nullptr) {
      expected.sample = sample(tensor, data);
      continue;
    }
    expected_.clear();
    return;
  }
}

std::string ResultCheck::compareWhole(const TensorDesc& tensor, const void* data, const void* expected, size_t output,
                                      const Tolerance& tolerance) {
  const int64_t count = tensor.dims.count();
  const auto distance = distances_->distance(tensor.dtype, data, expected, count, tolerance.rule(tensor.dtype));
  if (agree(distance, tensor.dtype, count, tolerance)) return {};
  const HostTensor values(tensor.dtype, {2});
  const auto bytes = bytesOf(tensor.dtype, 1);
  const auto offset = bytesOf(tensor.dtype, distance.at);
  auto* const to = static_cast<std::byte*>(values.view().data);
  device_.copy(to, static_cast<const std::byte*>(data) + offset, bytes, runtime::CopyKind::kDeviceToHost, nullptr);
  device_.copy(to + bytes, static_cast<const std::byte*>(expected) + offset, bytes, runtime::CopyKind::kDeviceToHost,
               nullptr);
  device_.synchronize(nullptr);
  return differenceText(output, distance.at, tensor.dims, values.view().loadDouble(0), values.view().loadDouble(1));
}

std::string ResultCheck::compare(const Problem& problem, const Candidate& candidate, std::span<void* const> outputs) {
  for (size_t i = 0; i < expected_.size(); ++i) {
    const auto& tensor = problem.outputs[i];
    const auto& expected = expected_[i];
    std::unique_ptr<Scratch> memory;
    const auto* data = linear(tensor, candidate.outputs[i], outputs[i], memory);
    if (data == nullptr) return {};
    const auto tolerance = Tolerance::ofCandidates(tensor.dtype, problem.tf32);
    std::string difference;
    if (expected.whole != nullptr) {
      difference = compareWhole(tensor, data, expected.whole->data(), i, tolerance);
    } else {
      auto got = sample(tensor, data);
      const int64_t count = std::min(tensor.dims.count(), kChunks * kChunkElements);
      const TensorView mine{got.data(), tensor.dtype, {count}};
      const TensorView wanted{const_cast<std::byte*>(expected.sample.data()), tensor.dtype, {count}};
      difference = compareResults(mine, wanted, i, tolerance);
    }
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace tenon::compile
