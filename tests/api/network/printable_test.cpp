// Text of others in messages: nothing steers a terminal or begins a line.
#include <tenon/printable.h>

#include "fixture.h"

namespace tenon::api {
namespace {

TEST(Printable, ControlCharactersAreWritten) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"conv1/weights [2,3]", "conv1/weights [2,3]"},
      {"a\n&&&& PASSED", "a\\n&&&& PASSED"},
      {"\r\t\x1b[2J\x7f", "\\r\\t\\x1b[2J\\x7f"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"\xc2\x9b"
       "2J",
       "\\xc2\\x9b2J"},  // U+009B begins a command, too
      {"\x9b"
       "2J",
       "\\x9b2J"},                 // and so does its byte alone
      {"\xc2\xa0", "\xc2\xa0"},    // the first one that is no control
      {"\xe2\x82", "\\xe2\\x82"},  // cut off
      {"\xe2\x82"
       "a",
       "\\xe2\\x82"
       "a"},
      {"\xc0\x8a\xff\xf5", "\\xc0\\x8a\\xff\\xf5"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(printable(text), expected);
    EXPECT_EQ(isPlain(printable(text).c_str()), expected.find_first_of("\xc3\xe2\xf0\xc2") == std::string::npos)
        << expected;
  }
  EXPECT_FALSE(isPlain("a\nb"));
  EXPECT_EQ(printable("none:\n  a\nb\n", LineBreaks::kIndented), "none:\n  a\n  b\n  ");
}

class Names : public NetworkTest {};

TEST_F(Names, OfTheCallerInErrors) {
  auto& x = input("x\n&&&& PASSED\x1b[2J", {2, 3});
  x.setDynamicRange(2, 1);
  expectError("tensor 'x\n  &&&& PASSED\\x1b[2J'");
  auto* layer = network->addActivation(x, nv::ActivationType::kRELU);
  layer->setName("\r\x07");
  layer->setName(nullptr);
  expectError("layer '\\r\\x07'");
}

}  // namespace
}  // namespace tenon::api
