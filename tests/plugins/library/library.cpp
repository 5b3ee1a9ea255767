// SPDX-License-Identifier: Apache-2.0
// What IPluginRegistry::loadLibrary() looks for, and what the tests ask the library.
#include "library.h"

#include <bit>
#include <mutex>

namespace library {
namespace {

std::mutex mutex;
std::string calls;

}  // namespace

void note(const std::string& call) {
  const std::lock_guard lock(mutex);
  calls += call + "\n";
}

float fromHalf(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = bits >> 10 & 31U;
  const uint32_t fraction = bits & 1023U;
  if (exponent == 0)
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(fraction) * 0x1p-24F));
  const uint32_t wide = exponent == 31 ? 255U : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// To nearest even; of numbers within the range of half precision.
uint16_t toHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const float magnitude = std::bit_cast<float>(bits & 0x7fffffffU);
  if (magnitude < 0x1p-14F) {
    const float rounded = magnitude * 0x1p24F + 0x1p23F - 0x1p23F;
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(rounded));
  }
  const uint32_t rounded = (bits & 0x7fffffffU) + 0xfffU + (bits >> 13 & 1U);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

}  // namespace library

extern "C" __attribute__((visibility("default"))) nvinfer1::IPluginCreatorInterface* const* getCreators(
    int32_t& count) {
  static const std::vector<nvinfer1::IPluginCreatorInterface*> kAll = [] {
    auto all = library::creatorsV3();
    all.insert(all.end(), library::creatorsV2().begin(), library::creatorsV2().end());
    all.push_back(library::creatorQuick());
    return all;
  }();
  count = static_cast<int32_t>(kAll.size());
  return kAll.data();
}

// The calls of older plugins since the last time, a line each; the text lives until the next call.
extern "C" __attribute__((visibility("default"))) const char* takeCalls() {
  static std::string taken;
  const std::lock_guard lock(library::mutex);
  taken = std::move(library::calls);
  library::calls.clear();
  return taken.c_str();
}

extern "C" __attribute__((visibility("default"))) int liveObjects() { return library::liveObjects(); }
