// A region: operators that run together as the body of a loop or as a branch, kept by the operator that starts them. It
// has no constants and reads nothing from outside: both are inputs of the region, so that the node that owns it says
// all that it reads.
#pragma once

#include <memory>
#include <set>

#include "core/error.h"
#include "ops/operator.h"

namespace tenon::ops {

// Values of a region are numbered: its inputs first, then the results of each node in order.
struct RegionNode {
  Operator op;
  std::vector<int32_t> inputs;
  int32_t outputs = 1;  // how many results it has
  std::string name;     // of the layer that it computes, for messages
  bool operator==(const RegionNode&) const = default;
};

struct RegionBody {
  int32_t inputs = 0;
  std::vector<RegionNode> nodes;
  std::vector<int32_t> outputs;
  bool operator==(const RegionBody&) const = default;
};

// A region that no shapes make right: its nodes and values do not fit together.
class BadRegion : public UserError {
 public:
  using UserError::UserError;
};

// Shared and immutable, so that copies of the operator that owns it stay cheap.
class Region {
 public:
  Region() : body_(std::make_shared<const RegionBody>()) {}
  explicit Region(RegionBody body) : body_(std::make_shared<const RegionBody>(std::move(body))) {}

  const RegionBody& body() const noexcept { return *body_; }
  const RegionBody* operator->() const noexcept { return body_.get(); }
  bool operator==(const Region& other) const { return body_ == other.body_ || *body_ == *other.body_; }

  // BadRegion where a node reads a value that comes later, an output is no value, or there are other inputs.
  void check(size_t inputs) const;
  // Types of all values for these types of the inputs; UserError when an operator refuses, BadRegion as above, or where
  // a node has another number of results than the region says.
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const;
  Facts facts() const;  // deterministic where every node is, side effects where one has them
  // Sizes that its nodes compute (ops/op/size.h): bound in each run, by who runs it. Nothing outside knows them.
  std::set<std::string> ownSymbols() const;

 private:
  std::shared_ptr<const RegionBody> body_;
};

// Operators that need a size of the region itself stay as they are.
void bindField(Region& region, const SymbolValues& symbols);
void fieldSymbols(const Region& region, std::set<std::string>& names);
bool needsAny(const Operator& op, const std::set<std::string>& symbols);

struct Size;
// The number of a size becomes the value of its symbol. UserError when it is outside of its bounds.
void bindSize(const Size& size, const TensorView& number, std::string_view node, SymbolValues& symbols);

// Runs a region by the references of its operators: types and memory are made once, for any number of runs; in each run
// where the region computes sizes.
class RegionRunner {
 public:
  // Symbols must be bound: `inputs` says the extents.
  RegionRunner(const Region& region, std::span<const TensorView> inputs, const SymbolValues* symbols);
  // The addresses of the inputs may differ from run to run. The results hold until the next run.
  std::vector<TensorView> run(std::span<const TensorView> inputs);

 private:
  std::vector<TensorView> runSized(std::span<const TensorView> inputs);
  std::vector<TensorView> outputs() const;
  Region region_;
  const SymbolValues* symbols_;
  bool computesSizes_;
  std::vector<HostTensor> memory_;  // of results, by value less the inputs
  std::vector<TensorView> views_;   // by value
};

}  // namespace tenon::ops

namespace tenon {

// {cumulative{axis=0} [0] 1 "layer"}
template <>
struct FieldText<ops::RegionNode> {
  static std::string write(const ops::RegionNode& value);
  static ops::RegionNode read(TextReader& in);
};

// {3 [nodes] [outputs]}
template <>
struct FieldText<ops::Region> {
  static std::string write(const ops::Region& value);
  static ops::Region read(TextReader& in);
};

}  // namespace tenon
