// Slices and concatenations: merged, rolls and windows among them, and blocks of what steps side by side.
#include "check_pass.h"

namespace tenon::passes {
namespace {

TEST(MergeSlices, SlicesOfSlices) {
  const auto after = expectPass("merge_slices", R"g(input %x : f32[9,20]
    %a : f32[4,10] = slice{start=[1,2] size=[4,10] stride=[2,1]}(%x) "a"
    %b : f32[2,5] = slice{start=[3,0] size=[2,5] stride=[-1,2]}(%a) "b"
    output %b
)g",
                                "slice");
  EXPECT_EQ(after.node(after.order()[0]).op.text(), "slice{start=[7,2] size=[2,5] stride=[-2,2]}");
}

TEST(MergeSlices, SlicesOfConcatenationsReadThePiece) {
  expectPass("merge_slices", R"g(input %x : f32[2,3]
    input %y : f32[2,4]
    %c : f32[2,7] = concat{axis=1}(%x, %y) "c"
    %a : f32[2,2] = slice{start=[0,1] size=[2,2]}(%c) "a"
    %b : f32[1,3] = slice{start=[1,6] size=[1,3] stride=[1,-1]}(%c) "b"
    output %a
    output %b
)g",
             "slice slice");
  expectPass("merge_slices", R"g(input %x : f32[2,3]
    input %y : f32[2,4]
    %c : f32[2,7] = concat{axis=1}(%x, %y) "c"
    %a : f32[2,2] = slice{start=[0,2] size=[2,2]}(%c) "a"
    output %a
)g",
             "concat slice");
}

TEST(MergeSlices, NeighbouringSlicesAreOne) {
  expectPass("merge_slices", R"g(input %x : f32[2,9]
    input %y : f32[2,1]
    %a : f32[2,3] = slice{start=[0,1] size=[2,3]}(%x) "a"
    %b : f32[2,2] = slice{start=[0,4] size=[2,2]}(%x) "b"
    %d : f32[2,1] = slice{start=[0,8] size=[2,1]}(%x) "d"
    %c : f32[2,7] = concat{axis=-1}(%a, %b, %d, %y) "c"
    output %c
)g",
             "slice slice concat");
}

// x rolled by `by` along an axis as exporters write it.
std::string roll(const std::string& x, const std::string& y, int axis, int by) {
  const int extents[] = {2, 5, 6, 3};
  std::string text;
  for (const bool last : {true, false}) {
    std::string start = "0,0,0,0";
    std::string size;
    for (int i = 0; i < 4; ++i)
      size += fmt::format("{}{}", i == 0 ? "" : ",", i != axis ? extents[i] : last ? extents[i] - by : by);
    if (last) start.replace(static_cast<size_t>(2 * axis), 1, std::to_string(by));
    text += fmt::format("%{}{} : f32[{}] = slice{{start=[{}] size=[{}]}}(%{}) \"{}{}\"\n", y, last ? "a" : "b", size,
                        start, size, x, y, last ? "a" : "b");
  }
  return text + fmt::format("%{} : f32[2,5,6,3] = concat{{axis={}}}(%{}a, %{}b) \"{}\"\n", y, axis, y, y, y);
}

TEST(MergeSlices, RollsAreOneSlice) {
  Options options;
  options.device = "cuda";
  const std::string head = "input %x : f32[2,5,6,3]\n";
  const auto one = expectPass("merge_slices", head + roll("x", "y", 2, 2) + "output %y\n", "slice", options);
  EXPECT_EQ(one.node(one.order()[0]).op.text(), "slice{start=[0,0,2,0] size=[2,5,6,3] mode=wrap}");
  const auto two = expectPass("merge_slices",
                              head + roll("x", "z", 1, 3) + roll("z", "w", 2, 5) + roll("w", "y", 1, 4) + "output %y\n",
                              "slice", options);
  EXPECT_EQ(two.node(two.order()[0]).op.text(), "slice{start=[0,7,5,0] size=[2,5,6,3] mode=wrap}");
  expectPass("merge_slices", head + roll("x", "y", 2, 2) + "output %y\n", "slice slice concat");  // on the host
  // Pieces of another tensor, pieces that are not all, pieces along another axis.
  expectPass(
      "merge_slices",
      head +
          "input %z : f32[2,2,6,3]\n%a : f32[2,3,6,3] = slice{start=[0,2,0,0] size=[2,3,6,3]}(%x) \"a\"\n"
          "%b : f32[2,2,6,3] = slice{start=[0,0,0,0] size=[2,2,6,3]}(%z) \"b\"\n%y : f32[2,5,6,3] = concat{axis=1}(%a, %b) \"y\"\noutput %y\n",
      "slice slice concat", options);
  expectPass(
      "merge_slices",
      head +
          "%a : f32[2,2,6,3] = slice{start=[0,2,0,0] size=[2,2,6,3]}(%x) \"a\"\n"
          "%b : f32[2,2,6,3] = slice{start=[0,0,0,0] size=[2,2,6,3]}(%x) \"b\"\n%y : f32[2,4,6,3] = concat{axis=1}(%a, %b) \"y\"\noutput %y\n",
      "slice slice concat", options);
  expectPass(
      "merge_slices",
      head +
          "%a : f32[2,5,3,3] = slice{start=[0,0,3,0] size=[2,5,3,3]}(%x) \"a\"\n"
          "%b : f32[2,5,3,3] = slice{start=[0,0,0,0] size=[2,5,3,3]}(%x) \"b\"\n%y : f32[2,10,3,3] = concat{axis=1}(%a, %b) \"y\"\noutput %y\n",
      "slice slice concat", options);
}

// Halves of heads that are turned by their position: concat(-x[..., 3:], x[..., :3]), along one axis or another.
TEST(MergeSlices, RollsWithChangedSignsAreOneSliceAndAProduct) {
  Options options;
  options.device = "cuda";
  const auto turned = [](bool last, bool first, int axis) {
    const std::string after = axis == 2 ? "[2,3,2]" : "[2,2,5]", before = axis == 2 ? "[2,3,3]" : "[2,1,5]";
    const std::string text = fmt::format(R"g(input %x : f16[2,3,5]
    %a : f16{0} = slice{{start={1} size={0}}}(%x) "a"
    %b : f16{2} = slice{{start=[0,0,0] size={2}}}(%x) "b"
)g",
                                         after, axis == 2 ? "[0,0,3]" : "[0,1,0]", before);
    const auto negated = [](char from, char to, const std::string& shape) {
      return fmt::format("%{} : f16{} = pointwise{{expr=\"neg(x0)\"}}(%{}) \"{}\"\n", to, shape, from, to);
    };
    return text + (last ? negated('a', 'm', after) : "") + (first ? negated('b', 'n', before) : "") +
           fmt::format("%y : f16[2,3,5] = concat{{axis={}}}(%{}, %{}) \"y\"\noutput %y\n", axis, last ? "m" : "a",
                       first ? "n" : "b");
  };
  for (const int axis : {1, 2}) {
    expectPass("merge_slices", turned(true, false, axis), "slice pointwise", options);
    expectPass("merge_slices", turned(false, true, axis), "slice pointwise", options);
    expectPass("merge_slices", turned(true, true, axis), "slice pointwise", options);
  }
  expectPass("merge_slices", turned(true, false, 2), "slice slice pointwise concat");  // on the host
  // Only some columns of heads.
  const auto some = [](int start, const std::string& expr) {
    return fmt::format(R"g(input %x : f16[2,3,9]
    %a : f16[2,3,2] = slice{{start=[0,0,{}] size=[2,3,2]}}(%x) "a"
    %b : f16[2,3,4] = slice{{start=[0,0,{}] size=[2,3,4]}}(%x) "b"
    %m : f16[2,3,2] = pointwise{{expr="{}"}}(%a) "m"
    %y : f16[2,3,6] = concat{{axis=2}}(%m, %b) "y"
    output %y
)g",
                       start + 4, start, expr);
  };
  for (const int start : {0, 2, 3})
    expectPass("merge_slices", some(start, "neg(x0)"), "slice slice pointwise", options);
  expectPass("merge_slices", some(0, "abs(x0)"), "slice slice pointwise concat", options);
}

// Windows of 2 x 3 pixels of a picture that was rolled before, and the way back.
TEST(GatherRows, RolledWindows) {
  Options options;
  options.device = "cuda";
  const auto there = [](int batch, const std::string& more = "") {
    return fmt::format(R"g(input %x : f32[{0},4,6,3]
      %r : f32[{0},4,6,3] = slice{{start=[0,1,2,0] size=[{0},4,6,3] mode=wrap}}(%x) "roll"
      %s : f32[{0},2,2,2,3,3] = reshape{{shape=[{0},2,2,2,3,3]}}(%r) "split"
      %t : f32[{0},2,2,2,3,3] = transpose{{permutation=[0,1,3,2,4,5]}}(%s) "windows"
      %y : f32[{1},6,3] = reshape{{shape=[{1},6,3]}}(%t) "rows"
      output %y
)g",
                       batch, 4 * batch) +
           more;
  };
  const auto one = expectPass("gather_rows", there(3), "reshape gather reshape", options);
  EXPECT_EQ(text(one.value(one.node(one.order()[1]).inputs[1]).type.shape), "[24]");  // one table for all pictures
  expectPass("gather_rows", there(1), "reshape gather reshape", options);
  expectPass("gather_rows", R"g(input %x : f32[8,6,3]
      %s : f32[2,2,2,2,3,3] = reshape{shape=[2,2,2,2,3,3]}(%x) "split"
      %t : f32[2,2,2,2,3,3] = transpose{permutation=[0,1,3,2,4,5]}(%s) "pixels"
      %p : f32[2,4,6,3] = reshape{shape=[2,4,6,3]}(%t) "picture"
      %y : f32[2,4,6,3] = slice{start=[0,3,4,0] size=[2,4,6,3] mode=wrap}(%p) "back"
      output %y
)g",
             "reshape gather reshape", options);
  // Pictures that change places, and fewer rows than before: a table of all.
  const auto all = expectPass("gather_rows", R"g(input %x : f32[2,4,3]
      %r : f32[2,4,3] = slice{start=[1,1,0] size=[2,4,3] mode=wrap}(%x) "roll"
      %c : f32[2,2,3] = slice{start=[0,1,0] size=[2,2,3] stride=[1,2,1]}(%r) "some"
      %y : f32[2,2,3] = transpose{permutation=[1,0,2]}(%c) "swap"
      output %y
)g",
                              "reshape gather reshape", options);
  EXPECT_EQ(text(all.value(all.node(all.order()[1]).inputs[1]).type.shape), "[4]");
  // On the host; a roll alone; rows that do not stay whole; what others read, or somebody demands.
  const std::string same = "slice reshape transpose reshape";
  expectPass("gather_rows", there(3), same);
  expectPass("gather_rows", there(3, "output %r\n"), same, options);
  expectPass(
      "gather_rows",
      "input %x : f32[2,4,3]\n%y : f32[2,4,3] = slice{start=[0,1,0] size=[2,4,3] mode=wrap}(%x) \"roll\"\noutput %y\n",
      "slice", options);
  expectPass("gather_rows",
             "input %x : f32[2,4,3]\n%r : f32[2,4,3] = slice{start=[0,1,1] size=[2,4,3] mode=wrap}(%x) \"roll\"\n"
             "%y : f32[4,2,3] = transpose{permutation=[1,0,2]}(%r) \"swap\"\noutput %y\n",
             "slice transpose", options);
}

// Pieces of x that begin at the given places and step by 2 along the axes 1 and 2.
std::string steps(const std::vector<std::string>& starts, int axis, const std::string& out,
                  const std::string& more = "") {
  std::string text = "input %x : f32[2,4,6,3]\n" + more;
  std::string names;
  for (size_t k = 0; k < starts.size(); ++k) {
    text += fmt::format("%p{} : f32[2,2,3,3] = slice{{start=[0,{},0] size=[2,2,3,3] stride=[1,2,2,1]}}(%x) \"p{}\"\n",
                        k, starts[k], k);
    names += fmt::format("{}%p{}", k == 0 ? "" : ", ", k);
  }
  return text + fmt::format("%y : f32{} = concat{{axis={}}}({}) \"y\"\noutput %y\n", out, axis, names);
}

TEST(MergeSlices, StepsSideBySideAreBlocks) {
  Options options;
  options.device = "cuda";
  const std::string blocks = "reshape transpose reshape";
  expectPass("merge_slices", steps({"0,0", "1,0", "0,1", "1,1"}, 3, "[2,2,3,12]"), blocks, options);
  expectPass("merge_slices", steps({"0,0", "0,1", "1,0", "1,1"}, 3, "[2,2,3,12]"), blocks, options);
  expectPass("merge_slices", steps({"0,0", "0,1", "1,0", "1,1"}, 0, "[8,2,3,3]"), blocks, options);
  expectPass("merge_slices", steps({"0,0", "1,0", "0,1", "1,1"}, 2, "[2,2,12,3]"), blocks, options);
  expectPass(
      "merge_slices",
      "input %x : f32[2,9]\n%a : f32[2,3] = slice{start=[0,0] size=[2,3] stride=[1,3]}(%x) \"a\"\n%b : f32[2,3] = slice{start=[0,1] size=[2,3] stride=[1,3]}(%x) \"b\"\n"
      "%c : f32[2,3] = slice{start=[0,2] size=[2,3] stride=[1,3]}(%x) \"c\"\n%y : f32[2,9] = concat{axis=1}(%a, %b, %c) \"y\"\noutput %y\n",
      blocks, options);
  // On the host; in no order of digits; a piece twice; a piece that others read.
  const std::string same = "slice slice slice slice concat";
  expectPass("merge_slices", steps({"0,0", "1,0", "0,1", "1,1"}, 3, "[2,2,3,12]"), same);
  expectPass("merge_slices", steps({"0,0", "1,1", "0,1", "1,0"}, 3, "[2,2,3,12]"), same, options);
  expectPass("merge_slices", steps({"1,1", "1,0", "0,1", "0,0"}, 3, "[2,2,3,12]"), same, options);
  expectPass("merge_slices", steps({"0,0", "1,0", "0,1", "0,1"}, 3, "[2,2,3,12]"), same, options);
  expectPass("merge_slices", steps({"0,0", "1,0", "0,1", "1,1"}, 3, "[2,2,3,12]") + "output %p1\n", same, options);
  expectPass("merge_slices", steps({"0,0", "1,0"}, 3, "[2,2,3,6]"), "slice slice concat", options);
}

TEST(MergeSlices, ConcatenationsOfConcatenations) {
  expectPass("merge_slices", R"g(input %x : f32[2,3]
    input %y : f32[2,4]
    %c : f32[2,7] = concat{axis=1}(%x, %y) "c"
    %d : f32[2,10] = concat{axis=-1}(%x, %c) "d"
    output %d
)g",
             "concat");
}

}  // namespace
}  // namespace tenon::passes
