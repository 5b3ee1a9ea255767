// Element types and the conversions of the narrow floating-point ones; our own enum, never the ABI's.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tenon {

// The text names (f32, ...) are stable: they stand in plans, caches and pass tests.
enum class DataType : uint8_t { kF32, kF16, kBF16, kF8E4M3, kF4E2M1, kE8M0, kI64, kI32, kI8, kU8, kI4, kBool };

std::string_view name(DataType type) noexcept;
DataType parseDataType(std::string_view text);  // throws UserError

int bits(DataType type) noexcept;  // 4, 8, 16, 32 or 64
bool isFloating(DataType type) noexcept;
bool isInteger(DataType type) noexcept;  // Bool is not an integer

// Bytes of `count` packed elements (rounded up for the 4-bit types).
inline size_t bytesOf(DataType type, int64_t count) noexcept {
  return (static_cast<size_t>(count) * static_cast<size_t>(bits(type)) + 7) / 8;
}

float halfToFloat(uint16_t bits) noexcept;
uint16_t floatToHalf(float value) noexcept;  // round to nearest even; overflow to infinity
inline float bfloatToFloat(uint16_t half) noexcept { return std::bit_cast<float>(static_cast<uint32_t>(half) << 16); }
uint16_t floatToBfloat(float value) noexcept;  // round to nearest even
float fp8ToFloat(uint8_t bits) noexcept;       // E4M3 (no infinity, NaN 0x7f)
uint8_t floatToFp8(float value) noexcept;      // round to nearest even, saturating to +-448

// Element `index` of a packed buffer as double (integers of 64 bits lose precision beyond 2^53) or as int64 (floating
// values truncate towards zero), and the way back (saturating for integers, != 0 for Bool).
double loadDouble(DataType type, const void* data, int64_t index) noexcept;
int64_t loadInt(DataType type, const void* data, int64_t index) noexcept;
void storeDouble(DataType type, void* data, int64_t index, double value) noexcept;
void storeInt(DataType type, void* data, int64_t index, int64_t value) noexcept;

}  // namespace tenon
