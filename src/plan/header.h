// The fixed header of a plan's file and its byte form.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "plan/file.h"

namespace tenon::plan {

struct Section {
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t checksum = 0;
};

struct Header {
  FileFacts facts;
  Section manifest;
  Section constants;
  Section nativeCode;
};

constexpr uint64_t kSectionAlignment = 64;
constexpr uint64_t alignSection(uint64_t value) {
  return (value + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

std::array<std::byte, kHeaderBytes> encode(const Header& header);
// Checks magic, format version and the header's own checksum; throws UserError.
Header decode(std::span<const std::byte> start);

}  // namespace tenon::plan
