// Convolutions of images of few channels as convolutions of blocks: the arithmetic by the reference, the kernel that
// packs.
#include "backends/cuda/cudnn/packed_convolution.h"

#include "cuda/on_gpu.h"
#include "ops/op/convolution.h"

namespace tenon::test {
namespace {

using backends::cuda::ImagePacker;
using backends::cuda::PackedConvolution;

struct Case {
  Dims x, w;
  std::vector<int64_t> strides, padding;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.x.text() << " by " << c.w.text(); }

const Case kCases[] = {
    {{2, 3, 32, 40}, {5, 3, 7, 7}, {2, 2}, {3, 3}}, {{1, 3, 33, 31}, {4, 3, 3, 3}, {2, 2}, {1, 1}},
    {{1, 1, 9, 12}, {3, 1, 5, 5}, {1, 1}, {2, 2}},  {{1, 3, 47, 50}, {2, 3, 11, 11}, {4, 4}, {2, 2}},
    {{1, 4, 14, 15}, {3, 4, 3, 2}, {1, 2}, {0, 1}}, {{3, 2, 8, 8}, {3, 2, 4, 4}, {3, 2}, {2, 0}},
};

Extent constant(int64_t value) { return Extent(value); }

ops::Convolution operatorOf(const Case& c) {
  ops::Convolution op;
  op.strides = c.strides;
  for (const int64_t padding : c.padding) {
    op.prePadding.push_back(constant(padding));
    op.postPadding.push_back(constant(padding));
  }
  return op;
}

Dims resultOf(const Case& c) {
  Dims y{c.x[0], c.w[0]};
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<size_t>(i);
    y.push((c.x[i + 2] + 2 * c.padding[at] - c.w[i + 2]) / c.strides[at] + 1);
  }
  return y;
}

PackedConvolution packedOf(const Case& c, DataType type) {
  const std::vector<runtime::TensorShape> inputs{{type, c.x}, {type, c.w}};
  const std::vector<runtime::TensorShape> outputs{{type, resultOf(c)}};
  return {operatorOf(c), {inputs, outputs, nullptr}};
}

// Channel (c, h, w) of place (i, j) is the element (c, i * block - zeros + h, j * block - zeros + w).
HostTensor pack(const PackedConvolution& packed, const TensorView& x) {
  HostTensor result(x.dtype, packed.x);
  const auto strides = x.dims.strides();
  int64_t to = 0;
  for (IndexIterator at(packed.x); at.valid(); at.next(), ++to) {
    const int64_t perChannel = packed.block[0] * packed.block[1];
    const int64_t channel = at.index[1] / perChannel;
    const int64_t row = at.index[2] * packed.block[0] - packed.zeros[0] + at.index[1] % perChannel / packed.block[1];
    const int64_t column = at.index[3] * packed.block[1] - packed.zeros[1] + at.index[1] % packed.block[1];
    if (channel >= x.dims[1] || row < 0 || row >= x.dims[2] || column < 0 || column >= x.dims[3]) continue;
    const int64_t from = at.index[0] * strides[0] + channel * strides[1] + row * strides[2] + column;
    result.view().storeDouble(to, x.loadDouble(from));
  }
  return result;
}

HostTensor convolve(const ops::Convolution& op, const TensorView& x, const TensorView& w, const Dims& y) {
  HostTensor result(x.dtype, y);
  const std::vector<TensorView> inputs{x, w};
  const std::vector<TensorView> outputs{result.view()};
  ops::Operator(op).evaluate({inputs, outputs});
  return result;
}

class Packed : public ::testing::TestWithParam<Case> {};

TEST_P(Packed, BlocksGiveTheSameSums) {
  const auto& c = GetParam();
  const auto packed = packedOf(c, DataType::kF32);
  ASSERT_EQ(packed.refusal, "");
  EXPECT_EQ(packed.x[1] % 8, 0);
  const auto x = randomTensor(DataType::kF32, c.x, 1);
  const auto w = randomTensor(DataType::kF32, c.w, 2);
  const auto y = resultOf(c);
  const auto expected = convolve(operatorOf(c), x.view(), w.view(), y);
  const auto blocks = pack(packed, x.view());
  const auto weights = packed.weights(w.view());
  const auto got = convolve(packed.op, blocks.view(), weights.view(), y);
  EXPECT_LE(relativeError(got.view(), expected.view()), 1e-6);
}

TEST_P(Packed, KernelPacksAsDefined) {
  if (const auto reason = noGpu(); !reason.empty()) GTEST_SKIP() << reason;
  const auto& c = GetParam();
  const auto packed = packedOf(c, DataType::kF16);
  const auto x = randomTensor(DataType::kF16, c.x, 3);
  const auto expected = pack(packed, x.view());
  auto& device = backends::cuda::cudaDevice();
  const backends::cuda::Module module({}, backends::cuda::packImageCode(c.x[1], packed.block[0], packed.block[1]));
  ImagePacker packer(module);
  packer.configure(packed, {DataType::kF16, c.x, Layout::kLinear});
  // Channels innermost.
  HostTensor got(DataType::kF16, {packed.x[0], packed.x[2], packed.x[3], packed.x[1]});
  ASSERT_EQ(packer.bytes(), got.view().bytes());
  std::memset(got.view().data, 0x7b, got.view().bytes());
  const DeviceTensor from(device, x.view());
  const DeviceTensor to(device, got.view());
  packer.launch(from.data(), to.data(), nullptr);
  device.synchronize(nullptr);
  to.readBack();
  int64_t index = 0;
  int64_t wrong = 0;
  const auto strides = packed.x.strides();
  for (IndexIterator at(got.view().dims); at.valid(); at.next(), ++index) {
    const int64_t linear = at.index[0] * strides[0] + at.index[3] * strides[1] + at.index[1] * strides[2] + at.index[2];
    wrong += got.view().loadDouble(index) != expected.view().loadDouble(linear) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Cuda, Packed, ::testing::ValuesIn(kCases));

TEST(PackedRefusals, SayWhy) {
  const auto refusal = [](Case c, int64_t groups, std::vector<int64_t> dilations) {
    auto op = operatorOf(c);
    op.groups = groups;
    op.dilations = std::move(dilations);
    const std::vector<runtime::TensorShape> inputs{{DataType::kF16, c.x}, {DataType::kF16, c.w}};
    const std::vector<runtime::TensorShape> outputs{{DataType::kF16, resultOf(c)}};
    return PackedConvolution(op, {inputs, outputs, nullptr}).refusal;
  };
  EXPECT_EQ(refusal({{1, 8, 9, 9}, {4, 8, 3, 3}, {1, 1}, {1, 1}}, 1, {}), "8 channels; at most 4 are supported");
  EXPECT_EQ(refusal({{1, 3, 9, 9}, {3, 1, 3, 3}, {1, 1}, {1, 1}}, 3, {}), "3 groups");
  EXPECT_EQ(refusal({{1, 3, 9, 9}, {4, 3, 3, 3}, {1, 1}, {1, 1}}, 1, {2, 2}), "dilations");
  EXPECT_EQ(refusal({{1, 3, 64, 64}, {4, 3, 16, 16}, {16, 16}, {0, 0}}, 1, {}),
            "space-to-depth blocks of 768 values; at most 64 are supported");
  EXPECT_EQ(refusal({{1, 3, 9, 9}, {4, 3, 1, 1}, {1, 1}, {0, 0}}, 1, {}), "the window is one space-to-depth block");
  EXPECT_EQ(refusal({{1, 3, 9}, {4, 3, 3}, {1, 1}, {0, 0}}, 1, {}).substr(0, 1), "1");
}

TEST(Code, PackedImagesCompileForEveryChip) {
  if (!backends::cuda::nvrtc().missing.empty()) GTEST_SKIP() << backends::cuda::nvrtc().missing;
  for (const int chip : {80, 89, 90, 100, 120})
    EXPECT_FALSE(backends::cuda::compile(backends::cuda::packImageCode(3, 2, 2).source(), chip).empty());
}

}  // namespace
}  // namespace tenon::test
