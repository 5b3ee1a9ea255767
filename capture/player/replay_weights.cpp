// Weights and data of a capture, as the replay hands them over.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "common/bin_format.h"
#include "common/method.h"
#include "player/replay.h"
#include "player/values.h"

namespace tenon::capture {
namespace {

// The values of weights that were not captured: small numbers, the same for the same seed and number of the weights.
std::vector<unsigned char> randomBytes(nvinfer1::DataType type, int64_t count, size_t size, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<unsigned char> bytes(size);
  std::uniform_real_distribution<float> values(-0.1F, 0.1F);
  for (int64_t i = 0; i < count; ++i) {
    const float value = values(engine);
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (type == nvinfer1::DataType::kFLOAT) {
      std::memcpy(&bytes[static_cast<size_t>(i) * 4], &bits, 4);
    } else if (type == nvinfer1::DataType::kBF16) {
      std::memcpy(&bytes[static_cast<size_t>(i) * 2], reinterpret_cast<const char*>(&bits) + 2, 2);
    } else if (type == nvinfer1::DataType::kHALF) {
      // Exponents of 2^-7 to 2^-4 with random fractions and signs.
      const auto half =
          static_cast<uint16_t>(((bits >> 16) & 0x8000U) | ((8 + (bits >> 13) % 4) << 10) | (bits & 0x3ffU));
      std::memcpy(&bytes[static_cast<size_t>(i) * 2], &half, 2);
    } else {
      const size_t at = static_cast<size_t>(i) * static_cast<size_t>(bitsOf(type)) / 8;
      bytes[at] = static_cast<unsigned char>(bits & 1U);
    }
  }
  return bytes;
}

}  // namespace

nvinfer1::Weights Replay::weights(uint64_t id) const {
  const auto found = weights_.find(id);
  if (found == weights_.end()) {
    throw CaptureError(fmt::format("weights {} are used but never defined", id));
  }
  return found->second;
}

std::pair<const void*, size_t> Replay::data(uint64_t id) const {
  const auto found = data_.find(id);
  if (found == data_.end()) {
    throw CaptureError(fmt::format("data {} is used but never defined", id));
  }
  return {found->second.bytes, found->second.size};
}

std::pair<const void*, size_t> Replay::dataAnywhere(uint64_t id) {
  if (data_.count(id) == 0 && ahead_.count(id) != 0) {
    Data& row = data_[id];
    row.bytes = capture_.data(ahead_.at(id), row.size);
  }
  return data(id);
}

void Replay::defineWeights(const Line& line) {
  nvinfer1::Weights weights{nvinfer1::DataType::kFLOAT, nullptr, 0};
  const Json count = line.value.value("count", Json());
  bool isType = false;
  for (int32_t i = 0; i <= static_cast<int32_t>(nvinfer1::DataType::kE8M0); ++i) {
    for (const EnumInfo& info : enums()) {
      if (info.type == "nvinfer1::DataType" && line.value.value("type", Json()) == info.names[static_cast<size_t>(i)]) {
        weights.type = static_cast<nvinfer1::DataType>(info.values[static_cast<size_t>(i)]);
        isType = true;
      }
    }
  }
  if (!isType || !count.is_number_unsigned()) {
    throw CaptureError(fmt::format("line {}: weights need a type and a count", line.number));
  }
  weights.count = count.get<int64_t>();
  const size_t size = bytesOf(weights.type, weights.count);
  const Json text = line.value.value("inline", Json());
  if (const uint64_t id = idAt(line.value, "data"); id != 0) {
    Data& row = data_[id];
    if (row.bytes == nullptr || row.size != size) {
      throw CaptureError(
          fmt::format("line {}: {} bytes of weights, but data {} has {}", line.number, size, id, row.size));
    }
    weights.values = row.bytes;
    if (std::exchange(row.used, true)) {
      // The same content at another address: weights are named by address, so each keeps one of its own.
      weights.values = ownBytes_.emplace_back(row.bytes, row.bytes + row.size).data();
    }
  } else if (line.value.value("random", Json()) == true) {
    if (size > (size_t{1} << 40)) {
      throw CaptureError(fmt::format("line {}: weights of {} bytes", line.number, size));
    }
    weights.values =
        ownBytes_
            .emplace_back(randomBytes(weights.type, weights.count, size,
                                      options_.randomSeed * 0x9e3779b97f4a7c15ULL + idAt(line.value, "weights")))
            .data();
  } else if (text.is_string() && text.get_ref<const std::string&>().size() == size * 2) {
    std::vector<unsigned char>& bytes = ownBytes_.emplace_back(size);
    const auto& hex = text.get_ref<const std::string&>();
    for (size_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<unsigned char>(std::strtoul(hex.substr(2 * i, 2).c_str(), nullptr, 16));
    }
    weights.values = bytes.data();
  } else {
    throw CaptureError(fmt::format("line {}: weights without their {} bytes", line.number, size));
  }
  weights_[idAt(line.value, "weights")] = weights;
}

}  // namespace tenon::capture
