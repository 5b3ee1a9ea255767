// Reads "ij,jk->ik", with "..." and without an arrow.
#include "api/network/einsum_equation.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "core/error.h"

namespace tenon::api {
namespace {

constexpr size_t kMostLabels = 64;

// Labels of one operand or of the result.
std::vector<EinsumLabel> parseTerm(std::string_view term, std::string_view equation) {
  std::vector<EinsumLabel> labels;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == ' ') continue;
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      labels.push_back(c);
      continue;
    }
    checkUser(term.substr(i, 3) == "...", "einsum equation '{}': got '{}' in a term; expected letters and '...'",
              equation, c);
    checkUser(std::find(labels.begin(), labels.end(), EinsumEquation::kEllipsis) == labels.end(),
              "einsum equation '{}': a term has two ellipses", equation);
    labels.push_back(EinsumEquation::kEllipsis);
    i += 2;
  }
  checkUser(labels.size() <= kMostLabels, "einsum equation '{}': a term has {} labels; expected {} at most", equation,
            labels.size(), kMostLabels);
  return labels;
}

// Axes -count .. -1 in place of the ellipsis.
std::vector<EinsumLabel> replaceEllipsis(const std::vector<EinsumLabel>& labels, int count) {
  std::vector<EinsumLabel> result;
  for (const EinsumLabel label : labels) {
    if (label != EinsumEquation::kEllipsis) {
      result.push_back(label);
      continue;
    }
    for (int i = count; i > 0; --i) result.push_back(-i);
  }
  return result;
}

bool holds(const std::vector<EinsumLabel>& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

}  // namespace

EinsumEquation EinsumEquation::parse(std::string_view text) {
  EinsumEquation equation;
  const size_t arrow = text.find("->");
  equation.hasResult = arrow != std::string_view::npos;
  std::string_view left = equation.hasResult ? text.substr(0, arrow) : text;
  for (;;) {
    const size_t comma = left.find(',');
    equation.operands.push_back(parseTerm(left.substr(0, comma), text));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (equation.hasResult) equation.result = parseTerm(text.substr(arrow + 2), text);
  for (const EinsumLabel label : equation.result) {
    checkUser(std::count(equation.result.begin(), equation.result.end(), label) == 1,
              "einsum equation '{}': the result names '{}' twice", text, static_cast<char>(label));
    const bool known = std::any_of(equation.operands.begin(), equation.operands.end(),
                                   [&](const auto& labels) { return label == kEllipsis || holds(labels, label); });
    checkUser(known, "einsum equation '{}': the result names '{}', which no operand has", text,
              static_cast<char>(label));
  }
  return equation;
}

EinsumEquation EinsumEquation::resolve(const std::vector<int>& ranks) const {
  checkUser(ranks.size() == operands.size(), "the equation has {} operands, the layer {} inputs", operands.size(),
            ranks.size());
  EinsumEquation resolved;
  resolved.hasResult = true;
  int most = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool open = holds(operands[i], kEllipsis);
    const int named = static_cast<int>(operands[i].size()) - (open ? 1 : 0);
    checkUser(open ? ranks[i] >= named : ranks[i] == named,
              "operand {} has {} dimensions; the equation names {}{} of it", i, ranks[i], named,
              open ? " or more" : "");
    resolved.operands.push_back(replaceEllipsis(operands[i], ranks[i] - named));
    most = std::max(most, open ? ranks[i] - named : 0);
  }
  if (hasResult) {
    resolved.result = replaceEllipsis(result, most);
    return resolved;
  }
  // Letters that occur once, in the order of the alphabet, behind the axes of the ellipsis.
  resolved.result = replaceEllipsis({kEllipsis}, most);
  std::map<EinsumLabel, int> counts;
  for (const auto& labels : operands) {
    for (const EinsumLabel label : labels) counts[label] += label == kEllipsis ? 0 : 1;
  }
  for (const auto& [label, count] : counts) {
    if (count == 1) resolved.result.push_back(label);
  }
  return resolved;
}

}  // namespace tenon::api
