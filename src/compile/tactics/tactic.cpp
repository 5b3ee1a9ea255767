// Candidates and problems as text, which logs, timing caches and hashes are made of.
#include "compile/tactics/tactic.h"

#include <algorithm>

#include "core/fields.h"
#include "runtime/kernel.h"

namespace tenon::compile {
namespace {

std::string formatList(const std::vector<Layout>& formats) {
  std::string result;
  for (const Layout format : formats) result += fmt::format("{}{}", result.empty() ? "" : ",", name(format));
  return "(" + result + ")";
}

bool symbolic(const ops::Operator& op, const SymbolValues& symbols) {
  if (symbols.empty()) return false;
  const auto text = op.text();
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](const auto& s) { return text.find(s.first) != std::string::npos; });
}

}  // namespace

Candidate rowMajor(std::string_view tactic, const Problem& problem) {
  return {std::string(tactic), "", std::vector<Layout>(problem.inputs.size()),
          std::vector<Layout>(problem.outputs.size())};
}

std::vector<const Tactic*> tacticsOf(std::string_view deviceKind, std::string_view backend) {
  std::vector<const Tactic*> result;
  for (const auto& source : tacticSources()) {
    if (!backend.empty() && backend != source.backend) continue;
    if (runtime::backend(source.backend).device().kind() != deviceKind) continue;
    result.insert(result.end(), source.tactics.begin(), source.tactics.end());
  }
  return result;
}

std::string Candidate::kernelName() const {
  auto result = variant.empty() ? tactic : tactic + "/" + variant;
  std::replace(result.begin(), result.end(), ',', ';');
  return result;
}

std::string Candidate::text() const {
  return fmt::format("{}{}{}{}->{}", tactic, variant.empty() ? "" : "/", variant, formatList(inputs),
                     formatList(outputs));
}

uint64_t Candidate::hash() const { return hashBytes(text()); }

std::string Problem::text() const {
  std::string result = op.text();
  for (const auto& in : inputs) {
    result += fmt::format(" {}{}[{}]", in.constant != nullptr ? "const:" : "", name(in.dtype), in.dims.text());
  }
  result += " ->";
  for (const auto& out : outputs) result += fmt::format(" {}[{}]", name(out.dtype), out.dims.text());
  if (tf32 && op.facts().contraction && !inputs.empty() && inputs[0].dtype == DataType::kF32) result += " tf32";
  if (coldWeights) result += " cold";
  if (symbolic(op, symbols)) {
    for (const auto& [symbol, value] : symbols) result += fmt::format(" {}={}", symbol, value);
  }
  std::replace(result.begin(), result.end(), '\n', ' ');
  return result;
}

}  // namespace tenon::compile
