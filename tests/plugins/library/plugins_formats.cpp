// SPDX-License-Identifier: Apache-2.0
// Plugins that take their operands in vectors of channels only.
#include <algorithm>

#include "on_host.h"
#include "plugin_v3.h"

namespace library {
namespace {

// Takes half precision in [N][H][W][C / 8 * 8] only and gives it in [N][C / 2][H][W][2]: y = x + channel.
class Vectors final : public Plugin<Vectors> {
 public:
  static constexpr const char* kName = "Vectors";
  using Plugin::Plugin;
  Vectors(const Vectors&) = default;
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[at].desc.type == DataType::kHALF &&
           all[at].desc.format == (at == 0 ? TensorFormat::kHWC8 : TensorFormat::kCHW2);
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t stream) noexcept override {
    if (in->format != TensorFormat::kHWC8 || out->format != TensorFormat::kCHW2) return 1;
    const auto& d = in->dims.d;
    const int64_t padded = (d[1] + 7) / 8 * 8;
    const int64_t pairs = (d[1] + 1) / 2;
    OnHost host(stream);
    const auto* const from = host.read<uint16_t>(inputs[0], d[0] * d[2] * d[3] * padded);
    auto* const y = host.write<uint16_t>(outputs[0], d[0] * pairs * d[2] * d[3] * 2);
    std::fill_n(y, d[0] * pairs * d[2] * d[3] * 2, uint16_t{0});
    for (int64_t n = 0; n < d[0]; ++n) {
      for (int64_t pixel = 0; pixel < d[2] * d[3]; ++pixel) {
        for (int64_t c = 0; c < d[1]; ++c) {
          const float x = fromHalf(from[(n * d[2] * d[3] + pixel) * padded + c]);
          const int64_t to = ((n * pairs + c / 2) * d[2] * d[3] + pixel) * 2 + c % 2;
          y[to] = toHalf(x + static_cast<float>(c));
        }
      }
    }
    return 0;
  }
};

// Takes bytes in [N][C / 32][H][W][32] only and gives them in [N][C / 4][H][W][4]: y = x + channel, within -128 to 127.
class Bytes final : public Plugin<Bytes> {
 public:
  static constexpr const char* kName = "Bytes";
  using Plugin::Plugin;
  Bytes(const Bytes&) = default;
  bool supportsFormatCombination(int32_t at, const DynamicPluginTensorDesc* all, int32_t, int32_t) noexcept override {
    return all[at].desc.type == DataType::kINT8 &&
           all[at].desc.format == (at == 0 ? TensorFormat::kCHW32 : TensorFormat::kCHW4);
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void*, cudaStream_t stream) noexcept override {
    if (in->format != TensorFormat::kCHW32 || out->format != TensorFormat::kCHW4) return 1;
    const auto& d = in->dims.d;
    const int64_t pixels = d[2] * d[3];
    const auto elements = [&](int64_t width) { return d[0] * ((d[1] + width - 1) / width) * pixels * width; };
    const auto place = [&](int64_t n, int64_t c, int64_t pixel, int64_t width) {
      return ((n * ((d[1] + width - 1) / width) + c / width) * pixels + pixel) * width + c % width;
    };
    OnHost host(stream);
    const auto* const x = host.read<int8_t>(inputs[0], elements(32));
    auto* const y = host.write<int8_t>(outputs[0], elements(4));
    std::fill_n(y, elements(4), int8_t{0});
    for (int64_t n = 0; n < d[0]; ++n) {
      for (int64_t c = 0; c < d[1]; ++c) {
        for (int64_t pixel = 0; pixel < pixels; ++pixel)
          y[place(n, c, pixel, 4)] = static_cast<int8_t>(std::clamp<int64_t>(x[place(n, c, pixel, 32)] + c, -128, 127));
      }
    }
    return 0;
  }
};

}  // namespace

const std::vector<IPluginCreatorInterface*>& creatorsFormats() {
  static Creator<Vectors> vectors;
  static Creator<Bytes> bytes;
  static const std::vector<IPluginCreatorInterface*> kAll{&vectors, &bytes};
  return kAll;
}

}  // namespace library
