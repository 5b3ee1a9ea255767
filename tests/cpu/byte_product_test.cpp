// Products of 8-bit integers: the tiles against plain sums, the kernel against the reference; all of it is exact.
#include "backends/cpu/kernels/common/byte_tiles.h"
#include "core/platform/processor.h"
#include "typed_kernels.h"

namespace tenon::test {
namespace {

using namespace backends::cpu;  // NOLINT: what is tested

std::vector<int8_t> bytes(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int8_t> result(static_cast<size_t>(count));
  for (auto& value : result) {
    const uint64_t bits = random();  // a quarter of them extreme, so that sums of pairs leave 16 bits
    value = bits % 8 == 0 ? int8_t{-128} : bits % 8 == 1 ? int8_t{127} : static_cast<int8_t>(bits >> 8);
  }
  return result;
}

TEST(ByteProduct, Tiles) {
  for (const int64_t depth : {0, 1, 3, 4, 5, 63, 64, 131, 1031}) {
    for (const int64_t columns : {1, 7, 15, 16, 17, 31, 32}) {
      for (int rows = 1; rows <= kByteRows; ++rows) {
        SCOPED_TRACE(fmt::format("{} x {} x {}", rows, depth, columns));
        const auto a = bytes(rows * depth, 1);
        const auto b = bytes(depth * columns, 2);
        const int64_t aStep = byteQuads(depth) * kByteQuad;
        std::vector<uint8_t> shifted(static_cast<size_t>(rows * aStep));
        for (int r = 0; r < rows; ++r) shiftBytes(a.data() + r * depth, depth, 1, shifted.data() + r * aStep);
        std::vector<int8_t> panels(static_cast<size_t>(bytePanels(columns) * bytePanelBytes(depth)));
        packBytePanels(b.data(), depth, columns, columns, 1, panels.data());
        constexpr int32_t kUntouched = 123456789;
        const int64_t outStep = columns + 3;
        std::vector<int32_t> out(static_cast<size_t>(rows * outStep), kUntouched);
        ByteTile tile;
        const int64_t tap = 0;
        const uint8_t* sources[kByteRows];
        for (int r = 0; r < rows; ++r) sources[r] = shifted.data() + r * aStep;
        tile.rows = sources;
        tile.taps = &tap;
        tile.panels = panels.data();
        tile.panelStep = bytePanelBytes(depth);
        tile.quads = byteQuads(depth);
        tile.rowCount = rows;
        tile.panelCount = static_cast<int>(bytePanels(columns));
        tile.width = columns;
        tile.out = out.data();
        tile.outStep = outStep;
        byteTileFunction()(tile);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < outStep; ++c) {
            int32_t sum = 0;
            for (int64_t k = 0; k < depth && c < columns; ++k)
              sum += a[static_cast<size_t>(r * depth + k)] * b[static_cast<size_t>(k * columns + c)];
            ASSERT_EQ(out[static_cast<size_t>(r * outStep + c)], c < columns ? sum : kUntouched) << r << ", " << c;
          }
        }
      }
    }
  }
}

// What the registers of AMX do.
struct PlainRegisters {
  template <int kTile>
  static void zero() {
    std::memset(tiles[kTile], 0, sizeof(tiles[kTile]));
  }
  template <int kTile>
  static void load(const void* from, int64_t step) {
    for (int r = 0; r < 16; ++r) std::memcpy(tiles[kTile][r], static_cast<const uint8_t*>(from) + r * step, 64);
  }
  template <int kTile>
  static void store(void* to, int64_t step) {
    for (int r = 0; r < 16; ++r) std::memcpy(static_cast<uint8_t*>(to) + r * step, tiles[kTile][r], 64);
  }
  template <int kSums, int kLeft, int kRight>
  static void multiplyBytes() {
    for (int r = 0; r < 16; ++r) {
      for (int c = 0; c < 16; ++c) {
        int32_t sum = 0;
        std::memcpy(&sum, tiles[kSums][r] + 4 * c, 4);
        for (int k = 0; k < 64; ++k)
          sum += tiles[kLeft][r][k] * static_cast<int8_t>(tiles[kRight][k / 4][4 * c + k % 4]);
        std::memcpy(tiles[kSums][r] + 4 * c, &sum, 4);
      }
    }
  }
  static inline uint8_t tiles[8][16][64];
};

template <typename Registers>
void expectRegisterTiles(int rows, int64_t taps, int64_t depth, int64_t columns, bool areEven) {
  SCOPED_TRACE(fmt::format("{} x {} times {} x {}, {}", rows, taps, depth, columns, areEven));
  const int64_t quads = byteQuads(depth);
  const int64_t rowBytes = taps * quads * kByteQuad;
  const int64_t panelBytes = taps * quads * kByteQuad * kBytePanel + kBytePanel * 4;
  std::vector<uint8_t> a(static_cast<size_t>(2 * rows * rowBytes));
  const auto values = bytes(static_cast<int64_t>(a.size()), 1);
  std::copy(values.begin(), values.end(), reinterpret_cast<int8_t*>(a.data()));
  auto b = bytes(bytePanels(columns) * panelBytes, 2);
  for (int64_t p = 0; !areEven && p < bytePanels(columns); ++p)  // nothing is taken away
    std::memset(b.data() + p * panelBytes + rowBytes * kBytePanel, 0, kBytePanel * sizeof(int32_t));
  constexpr int32_t kUntouched = 123456789;
  const int64_t outStep = columns + 3;
  std::vector<int32_t> out(static_cast<size_t>(rows * outStep), kUntouched);
  std::vector<int64_t> offsets(static_cast<size_t>(taps));
  for (int64_t tap = 0; tap < taps; ++tap) offsets[static_cast<size_t>(tap)] = (taps - 1 - tap) * quads * kByteQuad;
  const uint8_t* sources[kMostByteRows];
  for (int r = 0; r < rows; ++r) sources[r] = a.data() + (areEven ? r : r % 3 == 2 ? 2 * r - 1 : r) * rowBytes;
  ByteTile tile;
  tile.rows = sources;
  tile.taps = offsets.data();
  tile.tapCount = taps;
  tile.panels = b.data();
  tile.panelStep = panelBytes;
  tile.quads = quads;
  tile.rowCount = rows;
  tile.panelCount = static_cast<int>(bytePanels(columns));
  tile.width = columns;
  tile.out = out.data();
  tile.outStep = outStep;
  ByteTileProduct<Registers>(tile).run();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < outStep; ++c) {
      const int8_t* const panel = b.data() + c / kBytePanel * panelBytes;
      int32_t sum = 0;
      if (c < columns) std::memcpy(&sum, panel + rowBytes * kBytePanel + c % kBytePanel * 4, 4);
      sum = -sum;
      for (int64_t k = 0; k < rowBytes && c < columns; ++k) {
        const int64_t at = offsets[static_cast<size_t>(k / (quads * 4))] + k % (quads * 4);
        sum += sources[r][at] * panel[(k / 4 * kBytePanel + c % kBytePanel) * 4 + k % 4];
      }
      ASSERT_EQ(out[static_cast<size_t>(r * outStep + c)], c < columns ? sum : kUntouched) << r << ", " << c;
    }
  }
}

TEST(ByteProduct, TilesOfRegisters) {
  for (const int64_t depth : {1, 4, 30, 63, 64, 65, 131, 1031}) {
    for (const int64_t columns : {1, 15, 16, 17, 32}) {
      for (const int rows : {1, 2, 15, 16, 17, 31, 32}) {
        expectRegisterTiles<PlainRegisters>(rows, 1, depth, columns, true);
        if (depth < 200) expectRegisterTiles<PlainRegisters>(rows, 3, depth, columns, false);
        if (!platform::hasByteTiles()) continue;
        const platform::TileRegisters registers;
        expectRegisterTiles<platform::TileRegisters>(rows, 1, depth, columns, true);
        expectRegisterTiles<platform::TileRegisters>(rows, 3, depth, columns, false);
      }
    }
  }
}

HostTensor byteTensor(const Dims& dims, uint64_t seed) {
  HostTensor tensor(DataType::kI8, dims);
  const auto values = bytes(dims.count(), seed);
  std::copy(values.begin(), values.end(), static_cast<int8_t*>(tensor.view().data));
  return tensor;
}

void expectProduct(const Dims& a, const Dims& b, const Dims& y, const std::string& fields,
                   const std::string& type = "i32") {
  expectKernelMatches(fmt::format("  %y : {}{} = matmul{}(%a, %b) \"n\"\n", type, shapeText(y), fields),
                      listOf(byteTensor(a, 1), byteTensor(b, 2)), "matmul", "cpu.byte_matmul",
                      type == "f32" ? 1e-6 : 0);
}

TEST(ByteProduct, Matrices) {
  for (const int64_t rows : {1, 2, 7, 8, 9, 67}) {
    for (const int64_t depth : {1, 4, 130}) {
      for (const int64_t columns : {1, 3, 16, 33, 64, 97}) {
        expectProduct({rows, depth}, {depth, columns}, {rows, columns}, "");
        expectProduct({depth, rows}, {columns, depth}, {rows, columns}, "{transposeA=true transposeB=true}");
      }
    }
  }
  expectProduct({300, 256}, {256, 200}, {300, 200}, "");
}

TEST(ByteProduct, Batches) {
  expectProduct({3, 5, 70}, {3, 70, 33}, {3, 5, 33}, "");
  expectProduct({2, 3, 20, 31}, {2, 1, 17, 31}, {2, 3, 20, 17}, "{transposeB=true}");
  expectProduct({4, 9, 6}, {6, 5}, {4, 9, 5}, "");
  expectProduct({6, 9}, {3, 6, 5}, {3, 9, 5}, "{transposeA=true}");
}

TEST(ByteProduct, WithoutElements) {
  expectProduct({0, 4}, {4, 5}, {0, 5}, "");
  expectProduct({3, 0}, {0, 5}, {3, 5}, "");
  expectProduct({3, 4}, {4, 0}, {3, 0}, "");
}

TEST(ByteProduct, Epilogues) {
  expectProduct({9, 40}, {40, 21}, {9, 21}, "{epilogue=\"cast.f32(x0);mul(t0,0.001)\"}", "f32");
  expectProduct({9, 40}, {40, 21}, {9, 21}, "{epilogue=\"floor_div(x0,100);clip(t0,-128,127);cast.i8(t1)\"}", "i8");
  expectKernelMatches(
      "  %y : f32[9,21] = matmul{epilogue=\"add(x0,x1);cast.f32(t0);mul(t1,x2)\"}(%a, %b, %c, %d) \"n\"\n",
      listOf(byteTensor({9, 40}, 1), byteTensor({40, 21}, 2), variedTensor(DataType::kI32, {21}, 3),
             variedTensor(DataType::kF32, {9, 1}, 4)),
      "matmul", "cpu.byte_matmul", 2e-6);
}

// A matrix that is packed when the engine is loaded.
TEST(ByteProduct, ConstantMatrices) {
  for (const bool transposed : {false, true}) {
    expectKernelMatches(fmt::format("  const %w : i8[{}] = random(7)\n  %y : i32[19,37] = "
                                    "matmul{{transposeB={}}}(%a, %w) \"n\"\n",
                                    transposed ? "37,50" : "50,37", transposed),
                        listOf(byteTensor({19, 50}, 1)), "matmul", "cpu.byte_matmul", 0);
  }
}

void expectCentered(const Dims& a, const Dims& b, const Dims& y, bool perColumn = false) {
  for (const DataType left : {DataType::kU8, DataType::kI8}) {
    for (const DataType right : {DataType::kU8, DataType::kI8}) {
      for (const bool isConstant : {false, true}) {  // zero points that take nothing away
        const auto none = [](DataType type) { return type == DataType::kU8 ? "128" : "0"; };
        const std::string zeros = isConstant ? fmt::format("  const %c : {}[] = {{{}}}\n  const %d : {}[] = {{{}}}\n",
                                                           name(left), none(left), name(right), none(right))
                                             : "";
        auto inputs = listOf(variedTensor(left, a, 1), variedTensor(right, b, 2));
        if (!isConstant) {
          inputs.push_back(variedTensor(left, {1}, 3));
          inputs.push_back(variedTensor(right, {perColumn ? b[b.rank - 1] : 1}, 4));
        }
        expectKernelMatches(zeros + fmt::format("  %y : i32{} = byte_matmul(%a, %b, %c, %d) \"n\"\n", shapeText(y)),
                            inputs, "byte_matmul", "cpu.byte_matmul", 0);
      }
    }
  }
}

TEST(ByteProduct, ZeroPoints) {
  for (const int64_t rows : {1, 2, 5, 9, 33}) {
    for (const int64_t depth : {1, 4, 67, 128}) {
      for (const int64_t columns : {1, 2, 5, 16, 33, 64, 131})
        expectCentered({rows, depth}, {depth, columns}, {rows, columns}, columns != 16);
    }
  }
  expectCentered({3, 1031}, {1031, 300}, {3, 300});
  expectCentered({70, 1031}, {1031, 3}, {70, 3});
}

TEST(ByteProduct, ZeroPointsOfBatches) {
  expectCentered({3, 5, 70}, {3, 70, 33}, {3, 5, 33}, true);
  expectCentered({2, 3, 20, 31}, {2, 1, 31, 17}, {2, 3, 20, 17});
  expectCentered({6, 9}, {3, 9, 5}, {3, 6, 5}, true);
  expectCentered({4, 9, 6}, {6, 5}, {4, 9, 5});
  expectCentered({4, 1, 64}, {4, 64, 70}, {4, 1, 70});
  expectCentered({5, 70, 64}, {5, 64, 1}, {5, 70, 1});
}

TEST(ByteProduct, ZeroPointsWithoutElements) {
  expectCentered({0, 4}, {4, 5}, {0, 5}, true);
  expectCentered({3, 0}, {0, 5}, {3, 5}, true);
  expectCentered({3, 4}, {4, 0}, {3, 0});
}

}  // namespace
}  // namespace tenon::test
