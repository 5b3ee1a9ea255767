// Reads files of cases.
#include "cases/cases.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"

namespace tenon::test {
namespace {

constexpr std::string_view kFloats[] = {"f32", "f16", "bf16"};
constexpr std::string_view kAnyFloat = "$f";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Words between blanks; brackets hold none.
std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> result;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const auto end = text.find(' ');
    result.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end);
  }
  return result;
}

class Reader {
 public:
  Reader(std::string file, std::string_view text) : file_(std::move(file)), rest_(text) {}

  std::vector<Case> run() {
    while (nextLine()) {
      if (trimmed(line_).empty() || trimmed(line_)[0] == '#') continue;
      if (line_[0] != ' ') {
        op_ = trimmed(line_);
        check("the operator", [&] { (void)ops::Operator::parse(op_); });
        continue;
      }
      checkUser(!op_.empty(), "{}: operands without an operator in front of them", place());
      readCase();
    }
    checkUser(!cases_.empty(), "{}: the file has no cases", file_);
    return std::move(cases_);
  }

 private:
  std::string place() const { return fmt::format("{}:{}", file_, number_); }

  template <typename Work>
  void check(const char* what, Work work) const {
    try {
      work();
    } catch (const Error& error) {
      throw UserError("{}: {}: {}", place(), what, error.what());
    }
  }

  bool nextLine() {
    line_.clear();
    if (rest_.empty()) return false;
    for (bool goesOn = true; goesOn && !rest_.empty();) {
      const auto end = rest_.find('\n');
      auto part = rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      goesOn = !part.empty() && part.back() == '\\';
      if (goesOn) part.remove_suffix(1);
      line_ += part;
    }
    return true;
  }

  void readCase() {
    const std::string_view line = line_;
    const auto semicolon = line.find(';');
    Case c;
    c.place = place();
    c.op = op_;
    for (const auto& word : words(line.substr(0, semicolon))) addOperands(c, word);
    if (semicolon != std::string_view::npos) readFacts(c, line.substr(semicolon + 1));
    const bool isMany = std::any_of(c.operands.begin(), c.operands.end(), [](const std::string& operand) {
      return operand.find(kAnyFloat) != std::string::npos;
    });
    if (!isMany) return add(std::move(c));
    for (const auto type : kFloats) {
      Case one = c;
      for (auto& operand : one.operands) {
        if (const auto at = operand.find(kAnyFloat); at != std::string::npos)
          operand.replace(at, kAnyFloat.size(), type);
      }
      add(std::move(one));
    }
  }

  void add(Case c) {
    check("the operands", [&] {
      std::vector<ops::TensorType> types;
      for (const auto& operand : c.operands) types.push_back(parseType(operand));
      (void)ops::Operator::parse(c.op).infer("case", types);
    });
    cases_.push_back(std::move(c));
  }

  void addOperands(Case& c, std::string word) const {
    if (word == "()") return;  // there are none
    int64_t count = 1;
    if (const auto star = word.find('*'); star != std::string::npos) {
      count = number(std::string_view(word).substr(star + 1));
      word.resize(star);
    }
    for (int64_t i = 0; i < count; ++i) c.operands.push_back(word);
  }

  void readFacts(Case& c, std::string_view text) const {
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
      const auto end = text.find(' ');
      const auto word = text.substr(0, end);
      const auto behind = end == std::string_view::npos ? std::string_view() : trimmed(text.substr(end));
      if (word == "refused" || word == "fails") return readLastFact(c, word, behind);
      if (word == "positive") {
        c.positive = true;
      } else if (word == "constant") {
        c.constants = {1};
      } else if (word.starts_with("constant=")) {
        for (std::string_view list = word.substr(9); !list.empty();) {
          const auto comma = std::min(list.find(','), list.size());
          c.constants.push_back(number(list.substr(0, comma)));
          list.remove_prefix(std::min(comma + 1, list.size()));
        }
      } else if (word == "drawn") {
        c.drawn = true;
      } else if (word.starts_with("by=")) {
        c.by = word.substr(3);
      } else if (word.starts_with("index=")) {
        c.indexLimit = number(word.substr(6));
      } else if (word.starts_with("tolerance=")) {
        c.tolerance = real(word.substr(10));
      } else if (word.starts_with("values=")) {
        readValues(c, word.substr(7));
      } else {
        throw UserError(
            "{}: unknown fact '{}'; expected index=N, positive, values=A,B, tolerance=T, constant, by=TEXT, drawn, "
            "refused, fails",
            place(), word);
      }
      text = behind;
    }
  }

  // "DEVICE: TEXT" or "DEVICE CANDIDATE: WHY".
  void readLastFact(Case& c, std::string_view word, std::string_view text) const {
    const bool isRefusal = word == "refused";
    const auto colon = text.find(": ");
    const auto subject = words(text.substr(0, colon));
    if (colon == std::string_view::npos || subject.size() != (isRefusal ? 1 : 2))
      throw UserError("{}: expected '{}'", place(), isRefusal ? "refused DEVICE: TEXT" : "fails DEVICE CANDIDATE: WHY");
    const std::string reason(trimmed(text.substr(colon + 1)));
    if (isRefusal) {
      c.refused[subject[0]] = reason;
    } else {
      c.fails[subject[0]] = {subject[1], reason};
    }
  }

  void readValues(Case& c, std::string_view text) const {
    for (;;) {
      const auto comma = text.find(',');
      c.scalars.push_back(real(text.substr(0, comma)));
      if (comma == std::string_view::npos) return;
      text.remove_prefix(comma + 1);
    }
  }

  double real(std::string_view text) const {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    checkUser(error == std::errc() && end == text.data() + text.size(), "{}: '{}' is no number", place(), text);
    return value;
  }

  int64_t number(std::string_view text) const {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    checkUser(error == std::errc() && end == text.data() + text.size(), "{}: '{}' is no number", place(), text);
    return value;
  }

  std::string file_;
  std::string_view rest_;
  std::string line_;
  std::string op_;
  int number_ = 0;
  std::vector<Case> cases_;
};

}  // namespace

std::string Case::text() const { return fmt::format("{} {} {}", place, op, fmt::join(operands, " ")); }

std::vector<Case> parseCases(const std::string& file, std::string_view text) { return Reader(file, text).run(); }

ops::TensorType parseType(std::string_view text) {
  const auto bracket = text.find('[');
  checkUser(bracket != std::string_view::npos, "'{}' is no type; expected one like f32[2,3]", text);
  ops::TensorType type{parseDataType(text.substr(0, bracket)), {}, std::nullopt};
  TextReader in(text.substr(bracket), "type of a case");
  for (const int64_t extent : FieldText<std::vector<int64_t>>::read(in)) type.shape.emplace_back(extent);
  return type;
}

bool isConstant(const Case& c, size_t operand) {
  return std::find(c.constants.begin(), c.constants.end(), static_cast<int64_t>(operand)) != c.constants.end();
}

std::string graphOf(const Case& c) {
  const auto op = ops::Operator::parse(c.op);
  std::vector<ops::TensorType> types;
  std::string text = "graph \"case\" {\n";
  std::string names;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    types.push_back(parseType(c.operands[i]));
    text += isConstant(c, i) ? fmt::format("const %x{} : {} = random({})\n", i, c.operands[i], 8 + i)
                             : fmt::format("input %x{} : {}\n", i, c.operands[i]);
    names += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
  }
  const auto outputs = op.infer("case", types);
  std::string results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results +=
        fmt::format("{}%y{} : {}{}", i == 0 ? "" : ", ", i, name(outputs[i].dtype), tenon::text(outputs[i].shape));
  }
  text += fmt::format("{} = {}({}) \"op\" from(\"op\")\n", results, c.op, names);
  for (size_t i = 0; i < outputs.size(); ++i) text += fmt::format("output %y{}\n", i);
  return text + "}";
}

}  // namespace tenon::test
