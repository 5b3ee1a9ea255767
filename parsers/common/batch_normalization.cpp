// Folds the four vectors of a batch normalization into two.
#include "batch_normalization.h"

#include <cmath>

#include "error.h"

namespace tenon::parsers {

std::string factorName(const std::string& output) { return output + "_factor"; }
std::string shiftName(const std::string& output) { return output + "_shift"; }

FoldedNormalization foldBatchNormalization(WeightStore& store, const WeightBytes& scale, const WeightBytes& bias,
                                           const WeightBytes& mean, const WeightBytes& variance, double epsilon,
                                           DataType type, const std::string& output) {
  std::vector<double> factor = toReals(scale);
  std::vector<double> shift = toReals(bias);
  const std::vector<double> means = toReals(mean);
  const std::vector<double> variances = toReals(variance);
  if (shift.size() != factor.size() || means.size() != factor.size() || variances.size() != factor.size()) {
    fail(FaultKind::kInvalidNode,
         fmt::format("scale, bias, mean and variance have {}, {}, {} and {} elements; expected "
                     "one for each channel",
                     factor.size(), shift.size(), means.size(), variances.size()));
  }
  for (size_t i = 0; i < factor.size(); ++i) {
    factor[i] /= std::sqrt(variances[i] + epsilon);
    shift[i] -= means[i] * factor[i];
  }
  const Dimensions shape{static_cast<int64_t>(factor.size())};
  const WeightBytes& first = store.ofReals(type, shape, factor);
  const WeightBytes& second = store.ofReals(type, shape, shift);
  return {&store.add(type, shape, first.data, factorName(output)),
          &store.add(type, shape, second.data, shiftName(output))};
}

}  // namespace tenon::parsers
