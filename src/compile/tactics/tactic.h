// The contract between the builder and the tactics of a backend: a tactic says whether it can do a problem, in which
// formats, and makes the record from which its other half makes the kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dims.h"
#include "core/layout.h"
#include "graph/constant.h"
#include "ops/operator.h"
#include "plan/program.h"

namespace tenon::compile {

struct TensorDesc {
  DataType dtype = DataType::kF32;
  Dims dims;                    // at the profile's opt shapes
  graph::ConstantPtr constant;  // set when the operand is a constant
  uint32_t openAxes = 0;        // a bit each: other extents may follow at run time
};

// One node at the shapes to tune for.
struct Problem {
  const ops::Operator& op;
  std::vector<TensorDesc> inputs;
  std::vector<TensorDesc> outputs;
  SymbolValues symbols;
  bool tf32 = false;  // f32 operands of contractions may be rounded to TF32
  size_t more = 0;    // candidates that a tactic may propose beside those that it or its library holds for good ones
  bool coldWeights = false;  // they come from memory when the kernel runs, but for small and very large ones
  std::string text() const;  // operator, types and extents: the key of timing caches (constants' values do not count)
};

// Yes, or no with the reason.
struct Support {
  std::string reason;  // empty: yes
  explicit operator bool() const noexcept { return reason.empty(); }
};
inline Support yes() { return {}; }
template <typename... Args>
Support no(fmt::format_string<Args...> format, Args&&... args) {
  return {fmt::format(format, std::forward<Args>(args)...)};
}

// One way to do a problem: formats of all operands and the variant of the kernel. A value: filters, the timing cache
// and the inspector speak of it.
struct Candidate {
  std::string tactic;   // "<backend>.<tactic>"
  std::string variant;  // "" or what distinguishes it from the tactic's other candidates; stable
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
  // Operands, a bit each, that may lie in memory with more than their channels from pixel to pixel
  // (TensorShape::pitch): then slices along the channels and parts of concatenations are read and written where they
  // are.
  uint64_t pitchedInputs = 0;
  uint64_t pitchedOutputs = 0;
  uint64_t overwritten =
      0;  // operands, a bit each, whose memory the first result may take, beside those that the operator names
  std::string text() const;        // cpu.dnnl_convolution/brgemm(linear,linear)->(channels_last)
  std::string kernelName() const;  // cpu.dnnl_convolution/brgemm, without commas: a column of tables
  uint64_t hash() const;  // of the text: the identity of the candidate for logs, timing caches and the inspector
};

// Every operand row-major.
Candidate rowMajor(std::string_view tactic, const Problem& problem);

constexpr int kSlowRank = 900;         // and more: passes make no node that nothing faster computes
constexpr int kLastResortRank = 1000;  // of tactics that are taken where nothing else can be

// Stateless; called from the building thread. Never throws from supports().
class Tactic {
 public:
  virtual ~Tactic() = default;
  virtual std::string_view name() const = 0;  // "cpu.dnnl_convolution"; enters plans and timing caches
  virtual int version() const = 0;
  virtual Support supports(const Problem& problem) const = 0;
  virtual std::vector<Candidate> candidates(
      const Problem& problem) const = 0;  // of a supported problem; none where a library refuses when asked
  // Called once before some of the candidates are measured: what takes long for each may be made ready at once here.
  virtual void prepare(const Problem&, std::span<const Candidate>) const {}
  virtual plan::KernelRecord build(const Problem& problem, const Candidate& candidate) const = 0;
  // Code for the exact device that goes into the plan beside the record (a cubin); empty: the record is enough. The run
  // half must be able to make it again from the record, because a loader may not trust it.
  virtual std::vector<std::byte> nativeCode(const Problem&, const Candidate&, const plan::KernelRecord&) const {
    return {};
  }
  // Equal where nativeCode() compiles the same code, for this problem or another one; 0: it compiles none, or whoever
  // asks must not count on it.
  virtual uint64_t codeHash(const plan::KernelRecord&) const { return 0; }
  // Used where nothing is measured (optimization level 0, ties): lower is tried first.
  virtual int rank(const Problem& problem, const Candidate& candidate) const = 0;
  bool isLastResort(const Problem& problem, const Candidate& candidate) const {
    return rank(problem, candidate) >= kLastResortRank;
  }
};

// Every tactic of one backend; the table of backends is generated from the folders of src/backends.
struct TacticSource {
  std::string_view backend;
  std::span<const Tactic* const> tactics;
};
std::vector<TacticSource> tacticSources();

// Those whose kernels run on devices of a kind, in the order of the table; only of one backend where that is named.
std::vector<const Tactic*> tacticsOf(std::string_view deviceKind, std::string_view backend = {});

}  // namespace tenon::compile
