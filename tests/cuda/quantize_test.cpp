// Quantization on the GPU rounds as the reference does where a quotient lies on the middle between two numbers.
#include <cmath>

#include "cuda/exact.h"

namespace tenon::test {
namespace {

// Multiples of the scale and a half, and their neighbours.
HostTensor nearTies(DataType type, const Dims& dims, float scale) {
  HostTensor tensor(type, dims);
  for (int64_t i = 0; i < dims.count(); ++i) {
    const auto tie = static_cast<float>((static_cast<double>(i % 256) - 127.5) * static_cast<double>(scale));
    const float value = i % 3 == 0 ? tie : std::nextafter(tie, i % 3 == 1 ? 100.f : -100.f);
    tensor.view().storeDouble(i, static_cast<double>(value));
  }
  return tensor;
}

TEST_F(OnGpu, QuantizationDividesInF32) {
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
    for (const bool perAxis : {false, true}) {
      const Dims dims{3, 1031};
      std::vector<HostTensor> inputs;
      inputs.push_back(nearTies(type, dims, 0.1f));
      inputs.emplace_back(type, perAxis ? Dims{3} : Dims{});
      for (int64_t i = 0; i < inputs[1].view().count(); ++i) inputs[1].view().storeDouble(i, 0.1f);
      for (const char* const narrow : {"i8", "u8"})
        expectExact(fmt::format("quantize{{axis=0 type={}}}", narrow), "quantize", inputs);
    }
  }
}

}  // namespace
}  // namespace tenon::test
