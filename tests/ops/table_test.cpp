// The table of operators: every one writes itself as text and reads itself back, for random fields.
#include <set>

#include "core/error.h"
#include "ops/op/composite.h"
#include "ops/op/concat.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/dequantize.h"
#include "ops/op/fill.h"
#include "ops/op/gather.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/op/lrn.h"
#include "ops/op/matmul.h"
#include "ops/op/multi_pointwise.h"
#include "ops/op/normalization.h"
#include "ops/op/pointwise.h"
#include "ops/op/pointwise_reduce.h"
#include "ops/op/pooling.h"
#include "ops/op/quantize.h"
#include "ops/op/reduce.h"
#include "ops/op/reformat.h"
#include "ops/op/reshape.h"
#include "ops/op/resize.h"
#include "ops/op/shape.h"
#include "ops/op/slice.h"
#include "ops/op/softmax.h"
#include "ops/op/tap.h"
#include "ops/op/topk.h"
#include "ops/op/transpose.h"
#include "support.h"

namespace tenon::ops {
namespace {

void randomize(Rng& rng, bool& value) { value = pick(rng, 0, 1) == 1; }
void randomize(Rng& rng, int64_t& value) {
  value = pick(rng, 0, 3) == 0 ? static_cast<int64_t>(rng()) : pick(rng, -5, 5);
}
void randomize(Rng& rng, int32_t& value) { value = static_cast<int32_t>(pick(rng, -5, 5)); }
void randomize(Rng& rng, double& value) {
  value = pickOf(rng, std::vector<double>{0, -0.0, 1, 0.1, -1e300, 5e-324, INFINITY, -INFINITY, std::nan("")});
}
void randomize(Rng& rng, DataType& value) { value = static_cast<DataType>(pick(rng, 0, 11)); }
void randomize(Rng& rng, Layout& value) {
  constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8, {0, -1, 1, 8}, {-1, 2, 32}};
  value = kLayouts[pick(rng, 0, 4)];
}
void randomize(Rng& rng, Extent& value) {
  value = pick(rng, -9, 9);
  if (pick(rng, 0, 1) == 1)
    value = value +
            Extent::symbol(pickOf(rng, std::vector<std::string>{"N", "the batch", "a'b", "x.0"})) * pick(rng, -2, 2);
  if (pick(rng, 0, 2) == 1) value = max(floorDiv(value, pick(rng, 1, 4)), Extent::symbol("M"));
}
void randomize(Rng& rng, ScalarExpr& value) {
  value = parseScalarExpr(
      pickOf(rng, std::vector<std::string>{"", "relu(x0)", "mul(x0,0.1);add(t0,x1);cast.f8e4m3(t1)", "max(x0,nan)"}));
}
template <typename E, typename = std::enable_if_t<std::is_enum_v<E>>>
void randomize(Rng& rng, E& value) {
  value = static_cast<E>(pick(rng, 0, static_cast<int64_t>(enumNames(E{}).size()) - 1));
}
void randomize(Rng& rng, std::string& value) {
  value = pickOf(rng, std::vector<std::string>{"", "no rows", "a \"quoted\" text, {with} [marks]"});
}
void randomize(Rng& rng, LoopAxis& value) {
  randomize(rng, value.axis);
  randomize(rng, value.reverse);
  randomize(rng, value.length);
}
void randomize(Rng& rng, ResultExtents& value) {
  value.extents.resize(static_cast<size_t>(pick(rng, 0, 3)));
  for (auto& extent : value.extents) randomize(rng, extent);
}

template <typename T>
void randomize(Rng& rng, std::vector<T>& value) {
  value.resize(static_cast<size_t>(pick(rng, 0, 3)));
  for (auto& element : value) randomize(rng, element);
}

void randomize(Rng& rng, std::vector<CompositePart>& value) {
  for (int64_t left = pick(rng, 0, 3); left > 0; --left) {
    const auto inputs = pickOf(rng, std::vector<std::vector<int32_t>>{{}, {0}, {-1, 2, 0}});
    value.push_back({Operator::parse(pickOf(
                         rng, std::vector<std::string>{"softmax{axis=1}", "transpose", "reformat{to=channels_last}"})),
                     inputs});
  }
}

void randomize(Rng& rng, Region& value) {
  RegionBody body;
  body.inputs = static_cast<int32_t>(pick(rng, 0, 4));
  for (int64_t left = pick(rng, 0, 3); left > 0; --left) {
    const auto name = pickOf(rng, std::vector<std::string>{"", "a layer", "with \"quotes\""});
    body.nodes.push_back({Operator::parse(pickOf(rng, std::vector<std::string>{"softmax{axis=1}", "if"})),
                          {0, 2},
                          static_cast<int32_t>(pick(rng, 0, 2)),
                          name});
  }
  randomize(rng, body.outputs);
  value = Region(std::move(body));
}

template <typename T>
void checkRoundTrip() {
  Rng rng(51);
  for (int round = 0; round < 300; ++round) {
    T description;
    std::apply([&](const auto&... f) { (randomize(rng, description.*f.member), ...); }, T::fields);
    const Operator op(description);
    const auto text = op.text();
    const Operator read = Operator::parse(text);
    ASSERT_EQ(read, op) << text;
    ASSERT_EQ(read.text(), text);
    ASSERT_EQ(read.hash(), op.hash());
    ASSERT_NE(read.template as<T>(), nullptr);
    const Operator copy = op;
    ASSERT_EQ(copy, op);
  }
}

TEST(OperatorTable, TextReadsBack) {
  checkRoundTrip<Composite>();
  checkRoundTrip<Concat>();
  checkRoundTrip<Convolution>();
  checkRoundTrip<Deconvolution>();
  checkRoundTrip<Dequantize>();
  checkRoundTrip<Fill>();
  checkRoundTrip<Gather>();
  checkRoundTrip<If>();
  checkRoundTrip<Loop>();
  checkRoundTrip<Lrn>();
  checkRoundTrip<MatMul>();
  checkRoundTrip<MultiPointwise>();
  checkRoundTrip<Normalization>();
  checkRoundTrip<Pointwise>();
  checkRoundTrip<PointwiseReduce>();
  checkRoundTrip<Pooling>();
  checkRoundTrip<Quantize>();
  checkRoundTrip<Reduce>();
  checkRoundTrip<Reformat>();
  checkRoundTrip<Reshape>();
  checkRoundTrip<Resize>();
  checkRoundTrip<ShapeOf>();
  checkRoundTrip<Slice>();
  checkRoundTrip<Softmax>();
  checkRoundTrip<Tap>();
  checkRoundTrip<TopK>();
  checkRoundTrip<Transpose>();
}

// Every row: found by its name, its default has no text but the name, and equals what the name alone reads as.
TEST(OperatorTable, RowsAreConsistent) {
  std::set<std::string_view> names;
  for (const auto& info : operatorTable()) {
    EXPECT_TRUE(names.insert(info.name).second) << "two operators are named " << info.name;
    EXPECT_EQ(findOperator(info.name), &info);
    const Operator op = info.defaults();
    EXPECT_EQ(op.name(), info.name);
    EXPECT_EQ(op.text(), info.name);
    EXPECT_EQ(Operator::parse(info.name), op);
    EXPECT_EQ(Operator::parse(std::string(info.name) + "{}"), op);
    op.facts();
  }
  EXPECT_GE(names.size(), 20u);
  EXPECT_EQ(findOperator("nothing"), nullptr);
}

TEST(OperatorTable, BadTextIsRefused) {
  for (const auto* text :
       {"", "foo", "softmax{axis=}", "softmax{axis=1", "softmax{axis=1}}", "softmax{axle=1}", "pooling{type=mean}",
        "reshape{shape=[N}", "slice{start=[1,}", "pointwise{expr=relu(x0)}", "softmax{axis=1.5}"}) {
    EXPECT_THROW(Operator::parse(text), UserError) << text;
  }
}

TEST(OperatorTable, DifferentOperatorsAreDifferent) {
  EXPECT_FALSE(Operator(Softmax{0}) == Operator(Softmax{1}));
  EXPECT_FALSE(Operator(Softmax{0}) == Operator(Concat{0}));
  EXPECT_EQ(Operator(Softmax{0}).as<Concat>(), nullptr);
}

}  // namespace
}  // namespace tenon::ops
