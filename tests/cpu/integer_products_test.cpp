// Products of matrices of i32 and i64 against the reference: rows by columns that lie together or apart, in any order
// of axes; products that wrap in their type and sums that saturate.
#include <random>

#include "support/build_and_run.h"

namespace tenon::test {
namespace {

HostTensor integers(DataType type, const Dims& dims, uint64_t seed) {
  HostTensor tensor(type, dims);
  std::mt19937_64 random(seed);
  const int shift = type == DataType::kI32 ? 47 : 40;  // products of i32 reach 2^32, of which a few wrap
  for (int64_t i = 0; i < tensor.view().count(); ++i)
    tensor.view().storeInt(i, static_cast<int64_t>(random()) >> (random() % 2 == 0 ? shift : 56));
  return tensor;
}

std::string brackets(const Dims& dims) {
  std::string text;
  for (int axis = 0; axis < dims.rank; ++axis) text += (axis == 0 ? "[" : ",") + std::to_string(dims[axis]);
  return text + "]";
}

void check(const Dims& a, const Dims& b, const Dims& y, int64_t axis) {
  for (const auto* const type : {"i32", "i64"}) {
    const auto text = fmt::format(R"g(graph "g" {{
  input %a : {0}{1}
  input %b : {0}{2}
  %y : {0}{3} = pointwise_reduce{{expr="mul(x0,x1)" op=sum axes=[{4}]}}(%a, %b) "product"
  output %y
}})g",
                                  type, brackets(a), brackets(b), brackets(y), axis);
    SCOPED_TRACE(text);
    const auto dtype = std::string_view(type) == "i32" ? DataType::kI32 : DataType::kI64;
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    bool isKnown = false;
    options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
      for (const auto& candidate : candidates) isKnown = isKnown || candidate.tactic == "cpu.integer_products";
      return candidates;
    };
    std::vector<HostTensor> inputs;
    inputs.push_back(integers(dtype, a, 1));
    inputs.push_back(integers(dtype, b, 2));
    expectMatchesReference(graph::parse(text), inputs, options);
    EXPECT_TRUE(isKnown);
  }
}

TEST(IntegerProducts, Matrices) {
  for (const int64_t rows : {1, 3, 4, 65, 130}) {
    for (const int64_t depth : {1, 2, 7, 128, 131}) {
      for (const int64_t columns : {1, 2, 3, 9, 33, 67}) {
        check({rows, depth, 1}, {1, depth, columns}, {rows, columns}, 1);
        check({rows, 1, depth}, {1, columns, depth}, {rows, columns}, 2);
      }
    }
  }
}

// Sums of lines behind each other, of one axis or of two.
TEST(IntegerProducts, Lines) {
  for (const int64_t depth : {1, 2, 3, 4, 5, 8, 13, 16, 33}) {
    check({57, depth}, {57, depth}, {57}, 1);
    check({5, 3, 7, depth}, {5, 1, 7, depth}, {5, 3, 7}, 3);
  }
}

// A row by many columns; batches of either operand or both; rows and columns with batches in between; columns in front
// of rows.
TEST(IntegerProducts, Forms) {
  check({1, 3, 1}, {1, 3, 5003}, {1, 5003}, 1);
  check({3, 1, 300, 1}, {1, 5, 300, 9}, {3, 5, 9}, 2);
  check({2, 3, 7, 11, 1}, {2, 3, 1, 11, 13}, {2, 3, 7, 13}, 3);
  check({2, 9, 1, 3, 11, 1}, {2, 1, 1, 3, 11, 13}, {2, 9, 1, 3, 13}, 4);
  check({2, 1, 3, 11, 17}, {2, 9, 3, 11, 1}, {2, 9, 3, 17}, 3);
  check({6, 1, 17, 5}, {6, 9, 1, 5}, {6, 9, 17}, 3);
  check({4, 6, 0, 1}, {4, 1, 0, 3}, {4, 6, 3}, 2);
  check({4, 0, 5, 1}, {4, 1, 5, 3}, {4, 0, 3}, 2);
}

}  // namespace
}  // namespace tenon::test
