// Files of cases, and what their operators are given.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cases/cases.h"
#include "core/error.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

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

}  // namespace

double Case::toleranceOf(DataType output) const {
  if (tolerance != 0) return tolerance;
  switch (output) {
    case DataType::kF16: return 1.5e-3;
    case DataType::kBF16: return 1e-2;
    case DataType::kF8E4M3: return 0.06;
    default: return isFloating(output) ? 2e-5 : 0;
  }
}

std::vector<Case> readCases(const std::string& path) {
  const std::ifstream file(path);
  checkUser(file.good(), "{}: cannot be read", path);
  std::stringstream text;
  text << file.rdbuf();
  return parseCases(std::filesystem::path(path).filename().string(), text.str());
}

std::string pathOf(const std::string& file) {
  return (std::filesystem::exists(file) ? "" : std::string(TENON_CHECKOUT) + "/") + file;
}

std::vector<std::string> caseFiles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(pathOf("tests/cases"))) {
    if (entry.path().extension() == ".cases") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<Case> casesOf(const std::string& name) { return readCases(pathOf("tests/cases/" + name + ".cases")); }

std::vector<HostTensor> inputsOf(const Case& c) {
  std::vector<HostTensor> inputs;
  size_t scalar = 0;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    if (isConstant(c, i)) continue;
    const auto type = parseType(c.operands[i]);
    inputs.push_back(valuesFor(type, i + 1));
    const auto& view = inputs.back().view();
    if (type.shape.empty() && scalar < c.scalars.size()) view.storeDouble(0, c.scalars[scalar++]);
    for (int64_t k = 0; k < view.count(); ++k) {
      if (i == 1 && c.indexLimit > 0) view.storeInt(k, (k * 7919 + 3) % (2 * c.indexLimit) - c.indexLimit);
      if (i > 0 && c.positive && isFloating(type.dtype)) view.storeDouble(k, 0.75 + view.loadDouble(k) / 4);
    }
  }
  return inputs;
}

}  // namespace tenon::test
