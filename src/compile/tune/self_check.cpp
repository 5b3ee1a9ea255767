// The comparison of a kernel with the reference, in whatever formats the candidate has.
#include "compile/tune/self_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compile/tune/packed_operands.h"
#include "compile/tune/test_data.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/relayout.h"
#include "core/storage.h"
#include "core/strided.h"
#include "ops/check.h"
#include "ops/op/scatter.h"
#include "runtime/configure.h"

namespace tenon::compile {
namespace {

using runtime::CopyKind;

// Device memory that holds a tensor in a layout, zero where the layout pads.
class FormattedTensor {
 public:
  FormattedTensor(runtime::Device& device, DataType dtype, const Dims& dims, Layout layout)
      : device_(device), dtype_(dtype), dims_(dims), layout_(layout), host_(storageBytes(dtype, dims, layout)) {
    data_ = device_.allocate(std::max<size_t>(host_.size(), 1), 256);
    upload();
  }
  ~FormattedTensor() { device_.free(data_); }
  FormattedTensor(const FormattedTensor&) = delete;
  FormattedTensor& operator=(const FormattedTensor&) = delete;

  void* data() const { return data_; }
  void put(const TensorView& from) {
    copyTo(layout_, from, Layout::kLinear, host_.data());
    upload();
  }
  HostTensor take() {
    device_.copy(host_.data(), data_, host_.size(), CopyKind::kDeviceToHost, nullptr);
    device_.synchronize(nullptr);
    HostTensor result(dtype_, dims_);
    copyTo(Layout::kLinear, {host_.data(), dtype_, dims_}, layout_, result.view().data);
    return result;
  }

 private:
  void upload() {
    device_.copy(data_, host_.data(), host_.size(), CopyKind::kHostToDevice, nullptr);
    device_.synchronize(nullptr);
  }
  runtime::Device& device_;
  DataType dtype_;
  Dims dims_;
  Layout layout_;
  std::vector<char> host_;
  void* data_ = nullptr;
};

// Beyond `gain`, and beyond what rounding leaves by chance, which is less the more elements there are.
bool isTilted(const runtime::TensorDistance& distance, int64_t count, double gain) {
  constexpr double kManyDeviations = 4;
  if (gain == 0) return false;
  const double chance = std::sqrt(distance.difference / static_cast<double>(count) * distance.squares);
  return std::abs(distance.gain) > std::max(gain * distance.squares, kManyDeviations * chance);
}

}  // namespace

Tolerance Tolerance::ofReference(DataType dtype) {
  if (!isFloating(dtype)) return {};
  return {bits(dtype) >= 32 ? 1e-4 : 2e-2, 0, 0};
}

Tolerance Tolerance::ofCandidates(DataType dtype, bool tf32) {
  constexpr double kElement = 10;  // times what all together may differ
  if (!isFloating(dtype)) return {0, 0, 1e-3};
  const double norm = bits(dtype) >= 32         ? (tf32 ? 5e-3 : 1e-3)
                      : dtype == DataType::kF16 ? 2e-2
                      : bits(dtype) == 16       ? 5e-2
                                                : 0.3;
  // Operands that are rounded to TF32 are right on average, each that is cut off is 3.4e-4 too small; networks
  // multiply that from layer to layer.
  constexpr double kGain = 2.5e-4;
  return {norm, kElement * norm, 0, bits(dtype) >= 32 && tf32 ? kGain : 0};
}

runtime::DistanceRule Tolerance::rule(DataType dtype) const {
  constexpr double kLargestHalf = 3e4;  // beyond it another order of sums may overflow
  return {element, element > 0 && dtype == DataType::kF16 ? kLargestHalf : INFINITY, element == 0};
}

bool agree(const runtime::TensorDistance& distance, DataType dtype, int64_t count, const Tolerance& tolerance) {
  const auto elements = static_cast<double>(std::max<int64_t>(count, 1));
  if (!isFloating(dtype)) return static_cast<double>(distance.differing) <= tolerance.integers * elements;
  const double norm = std::sqrt(distance.squares);
  if (tolerance.element > 0 && distance.excess > tolerance.element * norm / std::sqrt(elements)) return false;
  if (isTilted(distance, std::max<int64_t>(count, 1), tolerance.gain)) return false;
  return std::sqrt(distance.difference) <= tolerance.norm * std::max(norm, 1e-6);
}

runtime::TensorDistance distanceBetween(const TensorView& got, const TensorView& expected,
                                        const runtime::DistanceRule& rule) {
  runtime::TensorDistance result;
  const int64_t count = expected.count();
  for (int64_t i = 0; i < count; ++i) {
    const double a = got.loadDouble(i);
    const double b = expected.loadDouble(i);
    result.squares += std::isfinite(b) ? b * b : 0;
    if (a == b || (std::isnan(a) && std::isnan(b)) || (std::isinf(b) && !rule.infinities)) continue;
    if (std::isinf(a) && std::abs(b) > rule.largest) continue;
    const bool finite = std::isfinite(a) && std::isfinite(b);
    const double d = finite ? std::abs(a - b) : INFINITY;
    result.difference += d * d;
    result.gain += finite ? (a - b) * b : 0;
    result.excess = std::max(result.excess, finite ? d - rule.factor * std::abs(b) : INFINITY);
    ++result.differing;
    if (d > result.worst) {
      result.worst = d;
      result.at = i;
    }
  }
  return result;
}

std::string compareResults(const TensorView& got, const TensorView& expected, size_t output,
                           const Tolerance& tolerance) {
  const auto distance = distanceBetween(got, expected, tolerance.rule(expected.dtype));
  if (agree(distance, expected.dtype, expected.count(), tolerance)) return {};
  return differenceText(output, distance.at, expected.dims, got.loadDouble(distance.at),
                        expected.loadDouble(distance.at));
}

std::string differenceText(size_t output, int64_t element, const Dims& dims, double got, double expected) {
  return fmt::format("output {} differs, most at element {} of {}: got {}, expected {}", output, element, dims.text(),
                     got, expected);
}

bool selfCheckWanted() { return switchedOn("TENON_SELF_CHECK", false); }

std::string selfCheck(runtime::Device& device, const Problem& problem, const Candidate& candidate,
                      const plan::KernelRecord& record, std::span<const std::byte> nativeCode, Log& log) {
  if (!problem.op.facts().deterministic) return {};  // the reference gives something else each time
  if (!device.isHost() && problem.op.as<ops::Scatter>() != nullptr) return {};  // updates of one element in any order
  std::vector<TensorView> constants;
  std::vector<HostTensor> values;
  std::vector<TensorView> inputs;
  std::vector<std::unique_ptr<FormattedTensor>> memory;
  std::vector<void*> pointers[2];
  std::vector<runtime::TensorShape> shapes[2];
  const auto place = [&](size_t side, const TensorDesc& desc, Layout format) -> FormattedTensor& {
    memory.push_back(std::make_unique<FormattedTensor>(device, desc.dtype, desc.dims, format));
    pointers[side].push_back(memory.back()->data());
    shapes[side].push_back({desc.dtype, desc.dims, format});
    return *memory.back();
  };
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const auto& desc = problem.inputs[i];
    constants.push_back(desc.constant != nullptr ? desc.constant->view() : TensorView{});
    if (desc.constant == nullptr) {
      values.emplace_back(desc.dtype, desc.dims);
      fillWithTestData(desc.dtype, values.back().view().data, desc.dims.count(), i + 1, integersBelow(problem, i));
    }
    inputs.push_back(desc.constant != nullptr ? constants.back() : values.back().view());
    place(0, desc, candidate.inputs[i]).put(inputs.back());
  }
  std::vector<HostTensor> expected;
  std::vector<TensorView> expectedViews;
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    expected.emplace_back(problem.outputs[i].dtype, problem.outputs[i].dims);
    expectedViews.push_back(expected.back().view());
    place(1, problem.outputs[i], candidate.outputs[i]);
  }
  ops::evaluateWhatIsThere(problem.op, {inputs, expectedViews, &problem.symbols});

  const auto kernel = runtime::backend(record.backend).load({record, constants, nativeCode, log});
  PackedOperands packed(device);
  for (const auto& operand : packed.of(*kernel, constants, candidate.outputs.at(0)))
    pointers[0][operand.input] = operand.data;
  const auto instance = kernel->instantiate();
  const size_t workspaceBytes = runtime::configure(*instance, {shapes[0], shapes[1], &problem.symbols});
  FormattedTensor workspace(device, DataType::kI8, {static_cast<int64_t>(workspaceBytes)}, Layout::kLinear);
  instance->launch({pointers[0].data(), pointers[1].data(), workspace.data(), nullptr});
  device.synchronize(nullptr);
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto got = memory[problem.inputs.size() + i]->take();
    auto difference = compareResults(got.view(), expectedViews[i], i, Tolerance::ofReference(expectedViews[i].dtype));
    if (!difference.empty()) return difference;
  }
  return {};
}

}  // namespace tenon::compile
