// The registers of AMX, which hold 16 rows of 64 bytes each. Only where processor.h says that there are such.
#pragma once

#include <cstdint>

namespace tenon::platform {

constexpr int kTileRegisterRows = 16;
constexpr int kTileRegisterBytes = 64;  // of a row

// While one lives, all registers of its thread are whole ones and may be used. Written as assembly, since compilers
// want their intrinsics in functions that only such processors run.
class TileRegisters {
 public:
#if defined(__x86_64__)
  TileRegisters() noexcept {
    struct alignas(64) Form {
      uint8_t palette = 1, startRow = 0, reserved[14] = {};
      uint16_t rowBytes[16] = {};
      uint8_t rows[16] = {};
    };
    Form form;
    for (int i = 0; i < 8; ++i) {
      form.rowBytes[i] = kTileRegisterBytes;
      form.rows[i] = kTileRegisterRows;
    }
    asm volatile("ldtilecfg %0" ::"m"(form) : "memory");
  }
  ~TileRegisters() { asm volatile("tilerelease" ::: "memory"); }

  template <int kTile>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  template <int kTile>
  static void load(const void* from, int64_t step) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(step), "i"(kTile) : "memory");
  }
  template <int kTile>
  static void store(void* to, int64_t step) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(step), "i"(kTile) : "memory");
  }
  // Adds to 16 by 16 sums of i32 those of 64 products each: of rows of unsigned bytes and of quads of rows of signed
  // ones.
  template <int kSums, int kLeft, int kRight>
  static void multiplyBytes() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kLeft), "i"(kRight));
  }
#else
  template <int kTile>
  static void zero() {}
  template <int kTile>
  static void load(const void*, int64_t) {}
  template <int kTile>
  static void store(void*, int64_t) {}
  template <int kSums, int kLeft, int kRight>
  static void multiplyBytes() {}
#endif
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
#if !defined(__x86_64__)
  TileRegisters() = default;
#endif
};

}  // namespace tenon::platform
