// A small convolutional network through the public interface, and its answers by plain loops: what tests of threads,
// processes and failing allocations build and run.
#pragma once

#include <NvInfer.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace tenon::test {

namespace nv = nvinfer1;

inline nv::Dims apiDims(std::initializer_list<int64_t> extents) {
  nv::Dims result{static_cast<int32_t>(extents.size()), {}};
  std::copy(extents.begin(), extents.end(), result.d);
  return result;
}

inline std::vector<float> uniform(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(static_cast<size_t>(count));
  for (auto& value : values) value = distribution(generator);
  return values;
}

// "x" [N,3,8,8] -> convolution 3x3 with padding and bias -> ReLU -> maximum over 2x2 -> softmax over channels -> "y"
// [N,5,4,4], for 1 <= N <= 8.
class SmallNetwork {
 public:
  static constexpr int64_t kMaxBatch = 8;
  static constexpr int64_t kChannels = 3;
  static constexpr int64_t kFilters = 5;
  static constexpr int64_t kExtent = 8;
  static constexpr int64_t kInput = kChannels * kExtent * kExtent;  // of one example
  static constexpr int64_t kOutput = kFilters * kExtent / 2 * kExtent / 2;

  explicit SmallNetwork(uint32_t seed = 1)
      : kernel_(uniform(kFilters * kChannels * 9, seed)), bias_(uniform(kFilters, seed + 1)) {}

  // The serialized engine, or null where a call failed; what failed is in the builder's log. The cache may be null.
  std::unique_ptr<nv::IHostMemory> build(nv::IBuilder& builder, int optimizationLevel = 0,
                                         const nv::ITimingCache* cache = nullptr) const {
    const std::unique_ptr<nv::INetworkDefinition> network(builder.createNetworkV2(0));
    const std::unique_ptr<nv::IBuilderConfig> config(builder.createBuilderConfig());
    if (network == nullptr || config == nullptr || !define(*network)) return nullptr;
    config->setBuilderOptimizationLevel(optimizationLevel);
    if (cache != nullptr && !config->setTimingCache(*cache, false)) return nullptr;
    nv::IOptimizationProfile* const profile = builder.createOptimizationProfile();
    if (profile == nullptr) return nullptr;
    const bool isSet = profile->setDimensions("x", nv::OptProfileSelector::kMIN, inputDims(1)) &&
                       profile->setDimensions("x", nv::OptProfileSelector::kOPT, inputDims(4)) &&
                       profile->setDimensions("x", nv::OptProfileSelector::kMAX, inputDims(kMaxBatch));
    if (!isSet || config->addOptimizationProfile(profile) != 0) return nullptr;
    return std::unique_ptr<nv::IHostMemory>(builder.buildSerializedNetwork(*network, *config));
  }

  static nv::Dims inputDims(int64_t batch) { return apiDims({batch, kChannels, kExtent, kExtent}); }

  std::vector<float> expected(const std::vector<float>& x) const {
    std::vector<float> y;
    for (size_t i = 0; i < x.size(); i += kInput) {
      const auto one = example(x.data() + i);
      y.insert(y.end(), one.begin(), one.end());
    }
    return y;
  }

  // The largest difference from the expected answers; they are probabilities, so that it says much.
  double error(const std::vector<float>& x, const std::vector<float>& y) const {
    const auto wanted = expected(x);
    double worst = y.size() == wanted.size() ? 0 : 1;
    for (size_t i = 0; i < std::min(y.size(), wanted.size()); ++i) {
      const double difference = std::abs(static_cast<double>(y[i]) - static_cast<double>(wanted[i]));
      worst = std::isnan(difference) ? 1 : std::max(worst, difference);
    }
    return worst;
  }

 private:
  bool define(nv::INetworkDefinition& network) const {
    const nv::Weights kernel{nv::DataType::kFLOAT, kernel_.data(), static_cast<int64_t>(kernel_.size())};
    const nv::Weights bias{nv::DataType::kFLOAT, bias_.data(), static_cast<int64_t>(bias_.size())};
    auto* const x = network.addInput("x", nv::DataType::kFLOAT, inputDims(-1));
    if (x == nullptr) return false;
    auto* const convolution = network.addConvolutionNd(*x, kFilters, apiDims({3, 3}), kernel, bias);
    if (convolution == nullptr) return false;
    convolution->setPaddingNd(apiDims({1, 1}));
    auto* const relu = network.addActivation(*convolution->getOutput(0), nv::ActivationType::kRELU);
    if (relu == nullptr) return false;
    auto* const pool = network.addPoolingNd(*relu->getOutput(0), nv::PoolingType::kMAX, apiDims({2, 2}));
    if (pool == nullptr) return false;
    pool->setStrideNd(apiDims({2, 2}));
    auto* const softmax = network.addSoftMax(*pool->getOutput(0));
    if (softmax == nullptr) return false;
    softmax->getOutput(0)->setName("y");
    network.markOutput(*softmax->getOutput(0));
    return true;
  }

  double activation(const float* x, int64_t filter, int64_t row, int64_t column) const {
    double sum = static_cast<double>(bias_[static_cast<size_t>(filter)]);
    for (int64_t c = 0; c < kChannels; ++c) {
      for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j < 3; ++j) {
          const int64_t h = row + i - 1;
          const int64_t w = column + j - 1;
          if (h < 0 || h >= kExtent || w < 0 || w >= kExtent) continue;
          sum += static_cast<double>(kernel_[static_cast<size_t>(((filter * kChannels + c) * 3 + i) * 3 + j)]) *
                 static_cast<double>(x[(c * kExtent + h) * kExtent + w]);
        }
      }
    }
    return std::max(sum, 0.0);
  }

  std::vector<float> example(const float* x) const {
    constexpr int64_t kHalf = kExtent / 2;
    std::vector<float> y(kOutput);
    for (int64_t row = 0; row < kHalf; ++row) {
      for (int64_t column = 0; column < kHalf; ++column) {
        std::array<double, kFilters> values{};
        double sum = 0;
        for (int64_t f = 0; f < kFilters; ++f) {
          double most = 0;
          for (int64_t i = 0; i < 4; ++i) most = std::max(most, activation(x, f, 2 * row + i / 2, 2 * column + i % 2));
          sum += values[static_cast<size_t>(f)] = std::exp(most);
        }
        for (int64_t f = 0; f < kFilters; ++f) {
          y[static_cast<size_t>((f * kHalf + row) * kHalf + column)] =
              static_cast<float>(values[static_cast<size_t>(f)] / sum);
        }
      }
    }
    return y;
  }

  std::vector<float> kernel_;
  std::vector<float> bias_;
};

// Sets shape and addresses, enqueues, and waits where the stream is the default one; false where a call failed.
inline bool enqueueSmall(nv::IExecutionContext& context, const std::vector<float>& x, std::vector<float>& y,
                         cudaStream_t stream) {
  const auto batch = static_cast<int64_t>(x.size()) / SmallNetwork::kInput;
  y.assign(static_cast<size_t>(batch * SmallNetwork::kOutput), -1);
  return context.setInputShape("x", SmallNetwork::inputDims(batch)) && context.setInputTensorAddress("x", x.data()) &&
         context.setTensorAddress("y", y.data()) && context.enqueueV3(stream);
}

}  // namespace tenon::test
