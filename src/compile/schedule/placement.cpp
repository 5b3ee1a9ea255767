// Concatenations from the last to the first, so that the place of a whole is known before its parts get theirs; then
// slices from the first to the last, for the same reason.
#include "compile/schedule/placement.h"

#include <algorithm>
#include <set>

#include "graph/phases.h"
#include "ops/op/concat.h"
#include "ops/op/slice.h"
#include "passes/pipeline.h"

namespace tenon::compile {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kDeviceAlignment = 256;  // libraries on GPUs choose kernels for whole operands

// A shape in the order of memory around one axis: `outer` rows of extent times `inner` elements.
struct Rows {
  Extent outer = 1;
  Extent inner = 1;
};

Rows rowsAlong(const Shape& shape, Layout format, size_t axis) {
  std::vector<size_t> order;
  for (size_t i = 0; i < shape.size(); ++i) order.push_back(i);
  if (format == Layout::kChannelsLast && shape.size() > 2)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  Rows rows;
  bool behind = false;
  for (const size_t i : order) {
    if (i == axis) {
      behind = true;
    } else {
      (behind ? rows.inner : rows.outer) = (behind ? rows.inner : rows.outer) * shape[i];
    }
  }
  return rows;
}

class Placer {
 public:
  Placer(const Graph& graph, Assignment& assignment, const ProfileSymbols& symbols, bool onHost)
      : graph_(graph),
        assignment_(assignment),
        symbols_(symbols),
        onHost_(onHost),
        uses_(graph.allUses()),
        phases_(graph::phasesOf(graph)) {}

  Placement run() {
    makeGroups();
    static const std::vector<NodeId> kNothing;
    const auto& order = passes::isDisabled("share_memory") ? kNothing : graph_.order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      if (const auto* concat = operatorOf<ops::Concat>(*id)) placeParts(*id, *concat);
    }
    for (const NodeId id : order) {
      if (const auto* slice = operatorOf<ops::Slice>(id)) placeSlice(id, *slice);
    }
    for (ValueId id = 0; id < graph_.valueCount(); ++id) result_.places.push_back(placeOf(root_[id]));
    return std::move(result_);
  }

 private:
  // What a place within other memory would cost: nodes that had to run their spares.
  struct Bill {
    bool possible = true;
    double seconds = 0;
    std::set<NodeId> swaps;
  };

  template <typename Op>
  const Op* operatorOf(NodeId id) const {
    return assignment_.isView[id] ? nullptr : graph_.node(id).op.as<Op>();
  }

  // The value whose memory each value has as a whole.
  void makeGroups() {
    root_.resize(graph_.valueCount());
    for (ValueId id = 0; id < graph_.valueCount(); ++id) root_[id] = id;
    for (const NodeId id : graph_.order()) {
      const auto& node = graph_.node(id);
      for (const ValueId output : node.outputs) {
        if (assignment_.isView[id]) root_[output] = root_[node.inputs.at(0)];
        members_[root_[output]].push_back(output);
      }
    }
  }

  Place placeOf(ValueId root) const {
    const auto found = homes_.find(root);
    if (found == homes_.end()) return {root, 0, 0};
    auto place = placeOf(found->second.owner);
    place.offset = place.offset + found->second.offset;
    place.pitch = found->second.pitch;
    return place;
  }

  // Whether a computed value with all its views may stand within another one's memory: no user holds its address, and
  // every view is as large as it is.
  bool mayMove(ValueId root) const {
    const auto& value = graph_.value(root);
    if (value.producer == graph::kNone || homes_.contains(root) || assignment_.isView[value.producer]) return false;
    const auto& group = members_.at(root);
    return std::all_of(group.begin(), group.end(), [&](ValueId id) {
      const auto& member = graph_.value(id);
      return !graph_.isOutput(id) && !livesOnHost(id) && member.type.dtype == value.type.dtype &&
             product(member.type.shape) == product(value.type.shape);
    });
  }

  bool livesOnHost(ValueId id) const { return !onHost_ && graph_.value(id).constraints.hostShape; }

  bool isAligned(const Extent& offset) const {
    return onHost_ || floorDiv(offset, kDeviceAlignment) * Extent(kDeviceAlignment) == offset;
  }

  static bool allows(uint64_t mask, size_t operand) { return operand < 64 && ((mask >> operand) & 1) != 0; }

  void charge(Bill& bill, NodeId id, uint64_t Candidate::*mask, size_t operand) const {
    const auto& choice = assignment_.choice[id];
    if (assignment_.isView[id]) bill.possible = false;
    if (!bill.possible || allows(choice.candidate.*mask, operand)) return;
    const auto* spare = choice.spare.empty() || !onHost_ ? nullptr : &choice.spare.front();
    const auto keeps = [&](uint64_t Candidate::*which) {
      return (choice.candidate.*which & ~(spare->candidate.*which)) == 0;
    };
    bill.possible = spare != nullptr && allows(spare->candidate.*mask, operand) && keeps(&Candidate::pitchedInputs) &&
                    keeps(&Candidate::pitchedOutputs);
    if (bill.possible && bill.swaps.insert(id).second) bill.seconds += spare->seconds - choice.seconds;
  }

  // What it takes that all who touch a value find it in rows further apart; `whole` is the concatenation that it is
  // part of.
  Bill billOf(ValueId id, NodeId whole) const {
    Bill bill;
    const auto& value = graph_.value(id);
    bill.possible = members_.at(root_[id]).size() == 1 && !value.constraints.debug && value.type.shape.size() >= 4;
    if (whole != graph::kNone)
      charge(bill, value.producer, &Candidate::pitchedOutputs, static_cast<size_t>(value.producerOutput));
    for (const auto& use : uses_[id]) {
      if (use.node != whole) charge(bill, use.node, &Candidate::pitchedInputs, static_cast<size_t>(use.input));
    }
    return bill;
  }

  void pay(const Bill& bill) {
    for (const NodeId id : bill.swaps) {
      auto spare = std::move(assignment_.choice[id].spare.front());
      assignment_.choice[id] = std::move(spare);
    }
  }

  double share(ValueId part, ValueId whole) const {
    const auto count = [&](ValueId id) {
      const auto dims = evaluate(graph_.value(id).type.shape, symbols_.opt);
      return static_cast<double>(dims.count());
    };
    const double all = count(whole);
    return all > 0 ? count(part) / all : 0;
  }

  // Blocks of channels are whole, so that rows before and behind them are as in row-major tensors.
  bool isPlaced(const graph::Node& node, size_t axis) const {
    const auto inFormat = [&](ValueId id) {
      return !livesOnHost(id) &&
             (graph_.value(id).constant != nullptr || assignment_.formats[id] == assignment_.formats[node.outputs[0]]);
    };
    const auto format = assignment_.formats[node.outputs[0]];
    const bool isRows = format == Layout::kLinear || format == Layout::kChannelsLast ||
                        (axis <= 1 && (format == Layout::kBlocked8 || format == Layout::kBlocked16));
    return isRows && bits(graph_.value(node.outputs[0]).type.dtype) >= 8 && !livesOnHost(node.outputs[0]) &&
           std::all_of(node.inputs.begin(), node.inputs.end(), inFormat);
  }

  void placeParts(NodeId id, const ops::Concat& concat) {
    const auto& node = graph_.node(id);
    const ValueId y = node.outputs[0];
    const auto& type = graph_.value(y).type;
    const auto axis =
        static_cast<size_t>(concat.axis < 0 ? concat.axis + static_cast<int64_t>(type.shape.size()) : concat.axis);
    if (!isPlaced(node, axis)) return;
    const auto rows = rowsAlong(type.shape, assignment_.formats[y], axis);
    const auto whole = placeOf(root_[y]);
    const bool dense = rows.outer.isConstant(1) && whole.pitch.isConstant(0);
    const bool alongPixels = assignment_.formats[y] == Layout::kChannelsLast && axis == 1;
    if (!dense && !alongPixels) return;
    const Extent pitch = dense ? Extent(0) : whole.pitch.isConstant(0) ? type.shape[1] : whole.pitch;
    const Extent step = rows.inner * Extent(bits(type.dtype) / 8);
    std::vector<CopiedPart> copied;
    Extent at = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Extent offset = at * step;
      at = at + graph_.value(node.inputs[i]).type.shape[axis];
      if (!placePart(id, i, {root_[y], offset, pitch}))
        copied.push_back({i, {whole.owner, whole.offset + offset, pitch}});
    }
    const bool none = copied.size() == node.inputs.size();
    if (!none) result_.shared.emplace(id, std::move(copied));
  }

  bool placePart(NodeId id, size_t input, const Place& home) {
    const auto& node = graph_.node(id);
    const ValueId x = node.inputs[input];
    const ValueId root = root_[x];
    if (!mayMove(root) || root == home.owner || std::count(node.inputs.begin(), node.inputs.end(), x) != 1)
      return false;
    // Where the whole stands, and how large it is, must be known when the part is written.
    if (phases_.ofNode[graph_.value(root).producer] < phases_.ofNode[id]) return false;
    if (home.pitch.isConstant(0)) {
      if (!isAligned(placeOf(home.owner).offset + home.offset)) return false;
    } else {
      const auto bill = billOf(x, id);
      if (!bill.possible || bill.seconds > assignment_.choice[id].seconds * share(x, node.outputs[0])) return false;
      pay(bill);
    }
    homes_.emplace(root, home);
    return true;
  }

  void placeSlice(NodeId id, const ops::Slice& slice) {
    const auto& node = graph_.node(id);
    if (slice.mode != ops::SliceMode::kStrict || node.inputs.size() != 1 || !mayMove(node.outputs[0])) return;
    const ValueId x = node.inputs[0];
    const ValueId y = node.outputs[0];
    if (graph_.value(root_[x]).constant != nullptr) return;
    const auto& shape = graph_.value(x).type.shape;
    const auto isOne = [](const Extent& stride) { return stride.isConstant(1); };
    if (!std::all_of(slice.stride.begin(), slice.stride.end(), isOne)) return;
    std::vector<size_t> cut;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (!slice.start[i].isConstant(0) || !(graph_.value(y).type.shape[i] == shape[i])) cut.push_back(i);
    }
    if (cut.size() != 1 || !isPlaced(node, cut[0])) return;
    const size_t axis = cut[0];
    const auto rows = rowsAlong(shape, assignment_.formats[x], axis);
    const auto source = placeOf(root_[x]);
    Place home{root_[x], slice.start[axis] * rows.inner * Extent(bits(graph_.value(x).type.dtype) / 8), 0};
    if (rows.outer.isConstant(1) && source.pitch.isConstant(0)) {
      if (!isAligned(source.offset + home.offset)) return;
    } else {
      if (assignment_.formats[x] != Layout::kChannelsLast || axis != 1) return;
      home.pitch = source.pitch.isConstant(0) ? shape[1] : source.pitch;
      const auto bill = billOf(y, graph::kNone);
      if (!bill.possible || bill.seconds > assignment_.choice[id].seconds) return;
      pay(bill);
    }
    homes_.emplace(y, home);
    result_.shared.emplace(id, std::vector<CopiedPart>{});
  }

  const Graph& graph_;
  Assignment& assignment_;
  const ProfileSymbols& symbols_;
  const bool onHost_;
  const std::vector<std::vector<graph::Use>> uses_;
  const graph::Phases phases_;
  std::vector<ValueId> root_;                        // by value
  std::map<ValueId, std::vector<ValueId>> members_;  // of the group of each root that is computed
  std::map<ValueId, Place> homes_;                   // of roots that have no memory of their own
  Placement result_;
};

}  // namespace

Placement placeValues(const Graph& graph, Assignment& assignment, const ProfileSymbols& symbols, bool onHost) {
  return Placer(graph, assignment, symbols, onHost).run();
}

}  // namespace tenon::compile
