// Lists whose length only the run knows, against what the definitions of their operators give.
#include "control_flow_models.h"

namespace tenon::parsers::onnx {
namespace {

constexpr size_t kColumns = 3;

// Rows of x, a matrix of kColumns columns, by their numbers.
Floats rowsOf(const Floats& x, const std::vector<size_t>& rows) {
  Floats result;
  for (const size_t row : rows)
    result.insert(result.end(), x.begin() + row * kColumns, x.begin() + (row + 1) * kColumns);
  return result;
}

Floats counted(size_t count) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1);
  return values;
}

// x [rows, 3] as the list of its rows, with their axis or without.
ModelMaker listOfRows(bool keeps) {
  ModelMaker maker;
  maker.input("x", {-1, static_cast<int64_t>(kColumns)});
  ModelMaker::set(maker.node("SplitToSequence", {"x"}, {"list"}), "keepdims", int64_t{keeps});
  for (const auto& [name, place] : {std::pair("first", 0), {"one", 1}, {"last", -1}}) maker.ints(name, {}, {place});
  return maker;
}

// The list of the name as one tensor again.
void joinRows(ModelMaker& maker, const std::string& list, bool keeps) {
  ModelMaker::set(maker.node("ConcatFromSequence", {list}, {"y"}), "axis", int64_t{0});
  ModelMaker::set(*maker.graph().mutable_node(maker.graph().node_size() - 1), "new_axis", int64_t{!keeps});
  maker.output("y");
}

TEST(Stacks, RowsAreInsertedAndErased) {
  for (const bool keeps : {false, true}) {
    for (const size_t count : {size_t{2}, size_t{5}}) {
      ModelMaker maker = listOfRows(keeps);
      maker.node("SequenceAt", {"list", "last"}, {"row"});
      maker.node("SequenceInsert", {"list", "row"}, {"whole"});
      maker.node("SequenceErase", {"whole", "first"}, {"short"});
      maker.node("SequenceErase", {"short"}, {"shorter"});
      maker.node("SequenceInsert", {"shorter", "row", "first"}, {"more"});
      maker.node("SequenceInsert", {"more", "row", "last"}, {"most"});
      joinRows(maker, "most", keeps);
      const Floats x = counted(count * kColumns);
      std::vector<size_t> rows{count - 1};
      for (size_t i = 1; i + 1 < count; ++i) rows.push_back(i);
      rows.insert(rows.end(), {count - 1, count - 1});
      EXPECT_EQ(run(maker, {x.data()}, rows.size() * kColumns, static_cast<int64_t>(count)), rowsOf(x, rows)) << keeps;
    }
  }
}

TEST(Stacks, ALengthAndAPlaceThatAreComputed) {
  for (const bool isOpen : {true, false}) {
    ModelMaker maker;
    maker.input("x", {isOpen ? -1 : 4, static_cast<int64_t>(kColumns)});
    maker.input("place", {}, kInt64);
    ModelMaker::set(maker.node("SplitToSequence", {"x"}, {"list"}), "keepdims", int64_t{0});
    maker.node("SequenceAt", {"list", "place"}, {"row"});
    maker.node("SequenceLength", {"list"}, {"length"});
    ModelMaker::set(maker.node("Cast", {"length"}, {"number"}), "to", int64_t{1});
    maker.node("Mul", {"row", "number"}, {"y"});
    maker.output("y");
    const Floats x = counted(4 * kColumns);
    for (const int64_t place : {0, 2, 3, -1, -4}) {
      Floats expected = rowsOf(x, {static_cast<size_t>(place < 0 ? place + 4 : place)});
      for (float& value : expected) value *= 4;
      EXPECT_EQ(run(maker, {x.data(), &place}, kColumns, 4), expected) << place;
    }
  }
}

// Columns of a matrix along an axis of their own, and along the axis of the columns themselves.
TEST(Stacks, PartsOfTheSecondAxis) {
  for (const bool isNew : {true, false}) {
    ModelMaker maker;
    maker.input("x", {2, -1});
    auto& split = maker.node("SplitToSequence", {"x"}, {"list"});
    ModelMaker::set(split, "axis", int64_t{1});
    ModelMaker::set(split, "keepdims", int64_t{!isNew});
    auto& join = maker.node("ConcatFromSequence", {"list"}, {"y"});
    ModelMaker::set(join, "axis", int64_t{isNew ? 0 : -1});
    ModelMaker::set(join, "new_axis", int64_t{isNew});
    maker.output("y");
    const Floats x{1, 2, 3, 4, 5, 6};
    EXPECT_EQ(run(maker, {x.data()}, 6, 3), isNew ? (Floats{1, 4, 2, 5, 3, 6}) : x);
  }
}

// Sizes that the model gives: a list of a known length, whatever the extent.
TEST(Stacks, SizesOfAnOpenAxis) {
  ModelMaker maker;
  maker.input("x", {-1, static_cast<int64_t>(kColumns)});
  maker.ints("sizes", {2}, {0, 1});
  maker.ints("one", {}, {1});
  maker.node("SplitToSequence", {"x", "sizes"}, {"list"});
  maker.node("SequenceAt", {"list", "one"}, {"y"});
  maker.output("y");
  const Floats x = counted(kColumns);
  EXPECT_EQ(run(maker, {x.data()}, kColumns, 1), x);
}

TEST(Stacks, ABodyForEachRow) {
  ModelMaker body, maker = listOfRows(false);
  body.input("row", {static_cast<int64_t>(kColumns)});
  body.input("factor", {});
  body.node("Mul", {"row", "factor"}, {"product"});
  body.output("product");
  maker.floats("two", {}, {2});
  setGraph(maker.node("SequenceMap", {"list", "two"}, {"products"}), "body", body);
  joinRows(maker, "products", false);
  const Floats x = counted(5 * kColumns);
  Floats expected = x;
  for (float& value : expected) value *= 2;
  EXPECT_EQ(run(maker, {x.data()}, expected.size(), 5), expected);
}

// Each iteration reads another list and inserts a row behind the end of its own, which may begin with a row.
ModelMaker growing(bool begins, const char* position) {
  ModelMaker body, maker = listOfRows(false);
  body.input("i", {}, kInt64);
  body.input("go", {}, kBool);
  body.graph().add_input()->set_name("rows");
  body.node("Identity", {"go"}, {"go_on"});
  body.node("SequenceAt", {"list", "i"}, {"row"});
  body.node("Neg", {"row"}, {"minus"});
  body.node("SequenceInsert", {"rows", "minus", position}, {"next"});
  body.output("go_on", {}, kBool);
  body.output("next");
  maker.node("SequenceLength", {"list"}, {"count"});
  maker.node("SequenceAt", {"list", "last"}, {"end"});
  maker.node(begins ? "SequenceConstruct" : "SequenceEmpty",
             begins ? std::vector<std::string>{"end"} : std::vector<std::string>{}, {"begin"});
  setGraph(maker.node("Loop", {"count", "", "begin"}, {"grown"}, "loop"), "body", body);
  joinRows(maker, "grown", false);
  return maker;
}

TEST(Stacks, ListsThatGrowInLoops) {
  for (const bool begins : {false, true}) {
    for (const size_t count : {size_t{1}, size_t{6}}) {
      const Floats x = counted(count * kColumns);
      Floats expected = begins ? rowsOf(x, {count - 1}) : Floats{};
      for (const float value : x) expected.push_back(-value);
      EXPECT_EQ(run(growing(begins, ""), {x.data()}, expected.size(), static_cast<int64_t>(count)), expected);
    }
  }
}

TEST(Stacks, WhatCannotBeSaid) {
  const auto expectRefusal = [](const ModelMaker& maker, const std::string& message) {
    NetworkBench bench;
    EXPECT_FALSE(bench.parse(maker));
    EXPECT_NE(bench.errors().find(message), std::string::npos) << bench.errors();
  };
  expectRefusal(growing(false, "i"),
                "changes the list of tensors (a sequence) 'rows' in another way than by inserting");
  ModelMaker mixed;
  mixed.input("x", {2});
  mixed.input("z", {3});
  mixed.input("place", {}, kInt64);
  mixed.node("SequenceConstruct", {"x", "z"}, {"list"});
  mixed.node("SequenceAt", {"list", "place"}, {"y"});
  mixed.output("y");
  expectRefusal(mixed, "a place in the list is known at run time only, and the list has tensors of shapes [2] and [3]");
  ModelMaker places = listOfRows(true);
  places.ints("two", {2}, {0, 1});
  places.node("SequenceErase", {"list", "two"}, {"short"});
  joinRows(places, "short", true);
  expectRefusal(places, "position [0,1]; expected one number");
  ModelMaker pieces;
  pieces.input("x", {-1, 2});
  pieces.ints("sizes", {2}, {-1, 2});
  pieces.node("SplitToSequence", {"x", "sizes"}, {"list"});
  joinRows(pieces, "list", true);
  expectRefusal(pieces, "split = [-1,2]; expected sizes that add up to the extent");
}

}  // namespace
}  // namespace tenon::parsers::onnx
