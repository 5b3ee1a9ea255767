// The file form of a plan: a header, a FlatBuffers manifest, the constants and the native code, each checksummed.
//
// Header (128 bytes, little endian), then the manifest, constants and native code, each section at a multiple of 64:
//   0  "TENONPLN"            8  u32 format version     12  u32 bytes of the header
//   16 i32 Tenon's version   20 i32 API version        24  u64 bytes of the file
//   32 manifest, 56 constants, 80 native code: u64 offset, u64 bytes, u64 checksum
//   104 zeros                120 u64 checksum of the bytes before
// Padding is zero, and checked, so that no bit of a plan can change without notice.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/large_memory.h"
#include "plan/blob.h"
#include "plan/program.h"

namespace tenon::plan {

constexpr uint32_t kFormatVersion = 3;
constexpr size_t kHeaderBytes = 128;

// What the header says, for tools that look at the start of a plan only.
struct FileFacts {
  uint32_t formatVersion = 0;
  int32_t tenonVersion = 0;
  int32_t apiVersion = 0;
  uint64_t fileBytes = 0;
};

// Reads a header. Throws UserError when these are not the first bytes of a plan, or of a format this Tenon cannot read.
FileFacts peek(std::span<const std::byte> start);

// The same plan gives the same bytes. Constants of equal bytes are stored once. Throws UserError when the plan is not
// sound (verify.h) or its manifest exceeds what the format can hold.
LargeVector<std::byte> write(const Plan& plan);

// Throws UserError that says what is wrong when the bytes are damaged or no sound plan. Constants point into the blob.
// Where `later` is given, the checksum of many constants is left to it: whoever reads calls it, if it is not empty,
// before anybody gets what the constants are in. It throws as read() would.
Plan read(const Blob& blob, std::function<void()>* later = nullptr);

}  // namespace tenon::plan
