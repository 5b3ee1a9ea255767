// Moments of runs of rows, and normalizations by them, beside the normalization that computes its own.
#include "ops/op/row_moments.h"

#include "ops/op/normalization.h"
#include "ops/op/normalize_rows.h"
#include "ops/support.h"

namespace tenon::ops {
namespace {

Shape shapeOf(const Dims& dims) { return {dims.begin(), dims.end()}; }

HostTensor evaluated(const Operator& op, const std::vector<const HostTensor*>& inputs) {
  std::vector<TensorType> types;
  std::vector<TensorView> views;
  for (const auto* input : inputs) {
    views.push_back(input->view());
    types.push_back({views.back().dtype, shapeOf(views.back().dims), std::nullopt});
  }
  const auto made = op.infer("op", types);
  HostTensor result(made[0].dtype, tenon::evaluate(made[0].shape, {}));
  const TensorView output = result.view();
  op.evaluate({views, {&output, 1}, nullptr});
  return result;
}

HostTensor filled(DataType type, const Dims& dims, double mean) {
  HostTensor result(type, dims);
  uint32_t state = 7;
  for (int64_t i = 0; i < dims.count(); ++i) {
    state = state * 1664525 + 1013904223;
    result.view().storeDouble(i, mean + static_cast<double>(state >> 8) / (1 << 23) - 1);
  }
  return result;
}

TEST(RowMoments, GiveTheNormalizationOfTheWholeRow) {
  for (const auto& dims : {Dims{3, 5, 200}, Dims{7, 64}, Dims{1, 1}, Dims{4, 63}, Dims{2, 65}, Dims{0, 9}}) {
    for (const bool centered : {true, false}) {
      for (const double mean : {0., 50.}) {
        const int64_t inner = dims[dims.rank - 1];
        const auto x = filled(DataType::kF32, dims, mean);
        const auto scale = filled(DataType::kF32, {inner}, 1);
        const auto bias = filled(DataType::kF32, {inner}, 0);
        const auto moments = evaluated(RowMoments{}, {&x});
        const auto y = evaluated(NormalizeRows{1e-3, centered}, {&x, &moments, &scale, &bias});
        Normalization whole;
        whole.axes = {-1};
        whole.epsilon = 1e-3;
        whole.centered = centered;
        const auto expected = evaluated(whole, {&x, &scale, &bias});
        for (int64_t i = 0; i < dims.count(); ++i)
          ASSERT_NEAR(y.view().loadDouble(i), expected.view().loadDouble(i), 2e-5) << dims.text() << " " << i;
      }
    }
  }
}

TEST(RowMoments, AreSumAndSpreadOfEachRun) {
  HostTensor x(DataType::kF32, {1, 5});
  for (int64_t i = 0; i < 5; ++i) x.view().storeDouble(i, static_cast<double>(i * i));
  RowMoments op;
  op.run = 3;  // 0, 1, 4 and 9, 16
  const auto moments = evaluated(op, {&x});
  const double expected[] = {5, 26. / 3, 25, 24.5};
  ASSERT_EQ(moments.view().count(), 4);
  for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(moments.view().loadDouble(i), expected[i], 1e-6);
}

std::string refusalOf(const Operator& op, const std::vector<TensorType>& inputs) {
  try {
    op.infer("op", inputs);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(RowMoments, SayWhatDoesNotFit) {
  const auto of = [](DataType type, Shape shape) { return TensorType{type, std::move(shape), std::nullopt}; };
  const auto f32 = DataType::kF32;
  EXPECT_NE(refusalOf(RowMoments{}, {of(DataType::kI32, {2, 3})}), "");
  EXPECT_NE(refusalOf(RowMoments{}, {of(f32, {})}).find("has no rows"), std::string::npos);
  EXPECT_NE(refusalOf(RowMoments{0}, {of(f32, {2, 3})}).find("run = 0"), std::string::npos);
  const auto rows = of(f32, {2, 70});
  const auto factors = of(f32, {70});
  EXPECT_EQ(refusalOf(NormalizeRows{}, {rows, of(f32, {2, 2, 2}), factors, factors}), "");
  EXPECT_NE(refusalOf(NormalizeRows{}, {rows, of(f32, {2, 2}), factors, factors}).find("one axis more"),
            std::string::npos);
  EXPECT_NE(refusalOf(NormalizeRows{}, {rows, of(f32, {2, 3, 2}), factors, factors}), "");
  EXPECT_NE(refusalOf(NormalizeRows{}, {rows, of(f32, {2, 2, 3}), factors, factors}).find("expected 2"),
            std::string::npos);
  EXPECT_NE(refusalOf(NormalizeRows{}, {rows, of(DataType::kF16, {2, 2, 2}), factors, factors}), "");
  EXPECT_NE(refusalOf(NormalizeRows{}, {rows, of(f32, {2, 2, 2}), of(f32, {1, 70}), factors}).find("one axis"),
            std::string::npos);
  EXPECT_NE(refusalOf(NormalizeRows{}, {rows, of(f32, {2, 2, 2}), of(f32, {69}), factors}), "");
}

}  // namespace
}  // namespace tenon::ops
