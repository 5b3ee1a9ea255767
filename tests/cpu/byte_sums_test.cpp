// Sums and averages of bytes against their reference: rows and images, straight lines and others, both signs.
#include "typed_kernels.h"

namespace tenon::test {
namespace {

constexpr const char* kLine = "cast.f32(x0);sub(t0,7);mul(t1,0.0213)";
constexpr const char* kCurve = "cast.f32(x0);mul(t0,0.0213);mul(t1,t1)";

void expectMatches(const Dims& dims, const std::string& fields, const Dims& out, uint64_t seed) {
  for (const DataType type : {DataType::kU8, DataType::kI8}) {
    for (const char* const expr : {kLine, kCurve}) {
      HostTensor x(type, dims);
      std::mt19937_64 random(seed);
      for (int64_t i = 0; i < dims.count(); ++i) x.view().as<uint8_t>()[i] = static_cast<uint8_t>(random());
      expectKernelMatches(
          fmt::format("  %y : f32{} = pointwise_reduce{{expr=\"{}\" {}}}(%a) \"r\"\n", shapeText(out), expr, fields),
          listOf(std::move(x)), "pointwise_reduce", "cpu.byte_sums", 2e-6);
    }
  }
}

TEST(ByteSums, MatchTheirReference) {
  expectMatches({1000}, "op=sum axes=[0]", {}, 1);
  expectMatches({3, 257}, "op=avg axes=[-1]", {3}, 2);
  expectMatches({2, 5, 63}, "op=sum axes=[1,2] keepDims=true", {2, 1, 1}, 3);
  expectMatches({2, 67, 9, 31}, "op=avg axes=[2,3] keepDims=true", {2, 67, 1, 1}, 4);
  expectMatches({2, 64, 23, 31}, "op=avg axes=[3,2]", {2, 64}, 5);
  expectMatches({1, 3, 2, 3, 5}, "op=avg axes=[2,3,4]", {1, 3}, 6);
  expectMatches({4, 0}, "op=sum axes=[1]", {4}, 7);
  expectMatches({0, 4}, "op=sum axes=[1]", {0}, 8);
}

// Images with channels last: a convolution in front gives them.
TEST(ByteSums, ChannelsLast) {
  for (const int channels : {64, 131}) {
    const auto lines = fmt::format(
        "  const %w : i8[{0},8,1,1] = random(3)\n  const %z : u8[] = {{3}}\n  const %v : i8[] = {{0}}\n  const %s : f32[] = "
        "{{0.5}}\n  %c : u8[2,{0},17,19] = byte_convolution{{type=u8}}(%a, %w, %z, %v, %s, %z) \"c\"\n  %y : "
        "f32[2,{0},1,1] = pointwise_reduce{{expr=\"{1}\" op=avg axes=[2,3] keepDims=true}}(%c) \"r\"\n",
        channels, kLine);
    expectKernelMatches(lines, listOf(variedTensor(DataType::kU8, {2, 8, 17, 19}, 5)), "pointwise_reduce",
                        "cpu.byte_sums", 2e-6);
  }
}

}  // namespace
}  // namespace tenon::test
