// The text cursor, and fields written as text and read back.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/fields.h"
#include "core/text.h"

namespace tenon {

enum class Colour : uint8_t { kRed, kGreen };
constexpr std::array<std::string_view, 2> enumNames(Colour) { return {"red", "green"}; }

struct Sample {
  int64_t count = 3;
  int32_t small = 0;
  bool flag = false;
  double real = 0.5;
  std::string label;
  DataType type = DataType::kF32;
  Colour colour = Colour::kRed;
  Extent extent = 1;
  Shape shape;
  std::vector<double> reals;
  std::vector<std::string> labels;
  static constexpr auto fields =
      std::tuple{field("count", &Sample::count),   field("small", &Sample::small),   field("flag", &Sample::flag),
                 field("real", &Sample::real),     field("label", &Sample::label),   field("type", &Sample::type),
                 field("colour", &Sample::colour), field("extent", &Sample::extent), field("shape", &Sample::shape),
                 field("reals", &Sample::reals),   field("labels", &Sample::labels)};
};

namespace {

TEST(TextReader, WordsAndPunctuation) {
  TextReader in("  alpha.b_2 # a comment\n = (3)", "sample");
  EXPECT_EQ(in.identifier(), "alpha.b_2");
  EXPECT_TRUE(in.accept("="));
  EXPECT_FALSE(in.accept("["));
  in.expect("(");
  EXPECT_EQ(in.integer(), 3);
  in.expect(")");
  EXPECT_TRUE(in.atEnd());
  EXPECT_EQ(in.peek(), '\0');
}

TEST(TextReader, AcceptWordStopsAtWordEnd) {
  TextReader in("trueish true");
  EXPECT_FALSE(in.acceptWord("true"));
  EXPECT_EQ(in.identifier(), "trueish");
  EXPECT_TRUE(in.acceptWord("true"));
}

TEST(TextReader, Numbers) {
  TextReader in("1 -2.5 inf -inf nan 1e-3 -9223372036854775808");
  EXPECT_EQ(in.number(), 1);
  EXPECT_EQ(in.number(), -2.5);
  EXPECT_EQ(in.number(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(in.number(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(in.number()));
  EXPECT_EQ(in.number(), 1e-3);
  EXPECT_EQ(in.integer(), std::numeric_limits<int64_t>::min());
  EXPECT_THROW(TextReader("--5").number(), UserError);
  EXPECT_THROW(TextReader("x").number(), UserError);
  EXPECT_THROW(TextReader("9223372036854775808").integer(), UserError);
  EXPECT_THROW(TextReader("").integer(), UserError);
}

TEST(TextReader, QuotedReadsBack) {
  for (const auto* text : {"", "plain", "with \"quotes\"", "back\\slash", "two\nlines", "#no comment", "\\n"}) {
    const auto quoted = quote(text);
    TextReader in(quoted);
    EXPECT_EQ(in.quoted(), text);
    EXPECT_TRUE(in.atEnd());
  }
  EXPECT_THROW(TextReader("\"open").quoted(), UserError);
  EXPECT_THROW(TextReader("\"open\\").quoted(), UserError);
}

TEST(TextReader, UntilSkipsGroups) {
  TextReader in("min(a,b)+'x,y' , rest");
  EXPECT_EQ(in.until(",]"), "min(a,b)+'x,y'");
  EXPECT_EQ(TextReader("").until(","), "");
  EXPECT_EQ(TextReader("'\\").until(","), "'\\");
}

TEST(TextReader, ErrorsNameThePlace) {
  TextReader in("one\n  two 3", "plan");
  in.identifier();
  in.identifier();
  try {
    in.expect("=");
    FAIL();
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("plan, line 2, column 7"), std::string::npos) << message;
    EXPECT_NE(message.find("expected '='"), std::string::npos) << message;
  }
}

Sample readSample(const std::string& text) {
  TextReader in(text, "sample");
  return readFields<Sample>(in);
}

TEST(Fields, DefaultsAreNotWritten) {
  EXPECT_EQ(writeFields(Sample{}), "");
  EXPECT_TRUE(equalFields(readSample(""), Sample{}));
}

TEST(Fields, ReadBack) {
  Sample sample;
  sample.count = std::numeric_limits<int64_t>::min();
  sample.small = -7;
  sample.flag = true;
  sample.real = 0.1;
  sample.label = "a \"b\" } c";
  sample.type = DataType::kF8E4M3;
  sample.colour = Colour::kGreen;
  sample.extent = floorDiv(Extent::symbol("the batch") + 1, 2);
  sample.shape = {Extent::symbol("N"), 3, max(Extent::symbol("N"), Extent::symbol("it's"))};
  sample.reals = {0.1, -0.0, std::numeric_limits<double>::infinity(), std::nan(""), 5e-324};
  sample.labels = {"", "x,y"};
  const auto text = writeFields(sample);
  EXPECT_TRUE(equalFields(readSample(text), sample)) << text;
  EXPECT_EQ(writeFields(readSample(text)), text);
}

TEST(Fields, NegativeZeroAndNanAreKept) {
  Sample sample;
  sample.reals = {-0.0};
  Sample other;
  other.reals = {0.0};
  EXPECT_FALSE(equalFields(sample, other));
  sample.reals = {std::nan("")};
  EXPECT_TRUE(equalFields(sample, sample));
}

TEST(Fields, BadTextIsRefused) {
  for (const auto* text : {"size=3", "count", "count=", "count=x", "flag=1", "colour=blue", "type=f64", "shape=[1",
                           "shape=[1 2]", "small=3000000000", "label=x", "extent=floordiv(1,0)"}) {
    EXPECT_THROW(readSample(text), UserError) << text;
  }
}

TEST(Fields, HashIsStable) {
  EXPECT_EQ(hashBytes(""), 14695981039346656037ull);
  EXPECT_EQ(hashBytes("a"), 0xaf63dc4c8601ec8cull);
}

}  // namespace
}  // namespace tenon
