// Loop and Scan: their bodies are imported in place, between the boundary layers of a loop.
#include <algorithm>
#include <map>
#include <set>

#include "control_flow.h"
#include "made.h"
#include "stacks.h"
#include "topology.h"

namespace tenon::parsers::onnx {

using nvinfer1::ITensor;

namespace {

std::optional<int64_t> knownCount(NetworkWriter& writer, const ParsedValue& value) {
  ParsedExtents list;
  if (!writer.asList(value, list) || list.size() != 1 || !list[0].known()) {
    return std::nullopt;
  }
  return list[0].value;
}

// The node by which a body appends to a carried value; null where it does something else, or reads that value or the
// result for anything else: the body has neither as a whole.
const pb::NodeProto* appending(const pb::GraphProto& body, const std::string& carried, const std::string& next) {
  const auto isEither = [&](const std::string& name) { return name == carried || name == next; };
  const pb::NodeProto* found = nullptr;
  int reads = 0;
  for (const pb::NodeProto& node : body.node()) {
    reads += static_cast<int>(std::count_if(node.input().begin(), node.input().end(), isEither));
    for (const pb::AttributeProto& attribute : node.attribute()) {
      std::set<std::string> names;
      if (attribute.has_g()) {
        collectNames(attribute.g(), names);
      }
      reads += static_cast<int>(names.count(carried) + names.count(next));
    }
    if (node.output_size() == 1 && node.output(0) == next) {
      found = &node;
    }
  }
  const auto given = std::count_if(body.output().begin(), body.output().end(),
                                   [&](const pb::ValueInfoProto& output) { return isEither(output.name()); });
  const bool appends = found != nullptr && reads == 1 && given == 1 && isStandardDomain(found->domain()) &&
                       found->input_size() >= 2 && found->input(0) == carried;
  return appends && (found->input_size() == 2 || found->input(2).empty()) ? found : nullptr;
}

// Exporters of lists let a tensor grow: the axis along which it does so; none where it does something else.
std::optional<int64_t> appendedAxis(const pb::GraphProto& body, const std::string& carried, const std::string& next) {
  const pb::NodeProto* concat = appending(body, carried, next);
  if (concat == nullptr || concat->op_type() != "Concat" || concat->input_size() != 2) {
    return std::nullopt;
  }
  for (const pb::AttributeProto& attribute : concat->attribute()) {
    if (attribute.name() == "axis") {
      return attribute.i();
    }
  }
  return std::nullopt;
}

bool isGrowingList(const pb::GraphProto& body, const std::string& carried, const std::string& next) {
  const pb::NodeProto* insert = appending(body, carried, next);
  return insert != nullptr && insert->op_type() == "SequenceInsert";
}

// Nothing of a value, along one axis.
ParsedValue noneOf(NetworkWriter& writer, const ParsedValue& value, size_t axis) {
  ParsedExtents size = writer.dims(value);
  const ParsedExtents start(size.size(), ParsedExtent::of(0));
  const ParsedExtents stride(size.size(), ParsedExtent::of(1));
  if (size.at(axis).known() && size[axis].value == 0) {
    return value;
  }
  size[axis] = ParsedExtent::of(0);
  return writer.slice(value, start, size, stride);
}

}  // namespace

nvinfer1::ILoop& NodeImport::addLoop(const OnnxNode& node, const Scope& scope) {
  auto& loop = made(writer_, writer_.network().addLoop(), "addLoop");
  loop.setName((scope.prefix + node.proto().name()).c_str());
  return loop;
}

ParsedValues NodeImport::importLoop(const OnnxNode& node, Scope& scope) {
  const pb::GraphProto& body = node.graph("body");
  const size_t states = node.inputCount() < 2 ? 0 : node.inputCount() - 2;
  checkCount("inputs", static_cast<size_t>(body.input_size()), states + 2);
  if (static_cast<size_t>(body.output_size()) < states + 1) {
    checkCount("outputs", static_cast<size_t>(body.output_size()), states + 1);
  }
  // Exporters write the greatest number where only the condition counts.
  constexpr int64_t kEndless = INT64_MAX / 2;
  const std::optional<int64_t> known = node.hasInput(0) ? knownCount(writer_, node.input(0)) : std::nullopt;
  const bool counted = node.hasInput(0) && !(known && *known >= kEndless);
  ITensor* count = counted ? &scalarTensor(writer_, node.input(0), "trip count") : nullptr;

  nvinfer1::ILoop& loop = addLoop(node, scope);
  Scope inner = subgraphScope(node, "body", scope);
  auto& number =
      writer_.added(loop.addRecurrence(writer_.tensor(writer_.scalar(DataType::kINT64, 0))), "addRecurrence");
  const ParsedValue current = writer_.output(number);
  number.setInput(1, writer_.tensor(writer_.binary(current, writer_.scalar(DataType::kINT64, 1),
                                                   nvinfer1::ElementWiseOperation::kSUM)));
  inner.values[body.input(0).name()] = current;
  inner.values[body.input(1).name()] = writer_.scalar(DataType::kBOOL, 1);  // else the body would not run
  std::vector<nvinfer1::IRecurrenceLayer*> carried;
  std::map<size_t, size_t> appended;  // states that grow, with their axes
  std::set<size_t> lists;             // outputs of the body that are lists
  std::vector<bool> grows;            // of each list
  for (size_t i = 0; i < states; ++i) {
    const std::string& name = body.input(static_cast<int>(i) + 2).name();
    const std::string& next = body.output(static_cast<int>(i) + 1).name();
    if (node.input(i + 2).isList()) {
      if (next != name && !isGrowingList(body, name, next)) {
        fail(FaultKind::kUnsupportedNode,
             fmt::format("the body changes the list of tensors (a sequence) '{}' in another way than by inserting one "
                         "tensor behind its end",
                         name));
      }
      grows.push_back(next != name);
      inner.values[name] = grows.back() ? ParsedValue::ofList({}) : node.input(i + 2);  // the body then gives one more
      carried.push_back(nullptr);
      lists.insert(i + 1);
      continue;
    }
    if (const auto axis = appendedAxis(body, name, next)) {
      const auto at = static_cast<size_t>(normalizeAxis(*axis, writer_.rankOf(node.input(i + 2))));
      appended.emplace(i, at);
      inner.values[name] = noneOf(writer_, node.input(i + 2), at);  // the body then gives what it appends
      carried.push_back(nullptr);
      continue;
    }
    carried.push_back(&writer_.added(loop.addRecurrence(node.tensor(i + 2)), "addRecurrence"));
    inner.values[body.input(static_cast<int>(i) + 2).name()] = writer_.output(*carried.back());
  }
  const size_t errors = environment_.errors.size();
  const ParsedValues results = importSubgraph(body, inner, lists);
  if (environment_.errors.size() != errors) {
    return {};
  }
  resume(node, scope);
  for (size_t i = 0; i < states; ++i) {
    if (carried[i] != nullptr) {
      carried[i]->setInput(1, writer_.tensor(results[i + 1]));
    }
  }

  const ParsedValue begins = node.hasInput(1) ? node.input(1) : writer_.scalar(DataType::kBOOL, 1);
  const bool conditional = knownBool(begins) != std::optional(true) || knownBool(results[0]) != std::optional(true);
  if (conditional) {
    auto& goesOn = writer_.added(loop.addRecurrence(scalarTensor(writer_, begins, "condition")), "addRecurrence");
    goesOn.setInput(1, scalarTensor(writer_, results[0], "condition of the next iteration"));
    writer_.added(loop.addTripLimit(writer_.output(goesOn), nvinfer1::TripLimit::kWHILE), "addTripLimit");
  }
  if (counted) {
    writer_.added(loop.addTripLimit(*count, nvinfer1::TripLimit::kCOUNT), "addTripLimit");
  } else if (!conditional) {
    fail(FaultKind::kInvalidNode, "the loop never ends: it has no trip count, and its condition is always true");
  }
  // The parts of all iterations behind each other along a new axis. Without a length there are as many as iterations.
  const auto stack = [&](const ParsedValue& part, size_t axis) {
    auto& layer = writer_.added(
        loop.addLoopOutput(writer_.tensor(part), nvinfer1::LoopOutput::kCONCATENATE, static_cast<int32_t>(axis)),
        "addLoopOutput");
    if (counted && !conditional) {
      layer.setInput(1, *count);
    }
    return ParsedValue(writer_.output(layer));
  };
  // Extents of what is appended are those of the value that it is appended to, but for the axis.
  const auto append = [&](const ParsedValue& begins, const ParsedValue& part, size_t axis) {
    ParsedExtents shape = writer_.dims(begins);
    const ParsedExtent own = writer_.dims(part).at(axis);
    if (!own.known()) {
      fail(FaultKind::kUnsupportedNode, "each iteration appends a number of elements that is not known while parsing");
    }
    shape[axis] = own;
    ParsedValue whole = stack(writer_.reshape(part, shape), axis);
    shape[axis] = writer_.combine(writer_.dims(whole).at(axis), own, nvinfer1::ElementWiseOperation::kPROD);
    whole = writer_.reshape(whole, shape);
    const ParsedExtent before = writer_.dims(begins).at(axis);
    return before.known() && before.value == 0 ? whole : writer_.concat({begins, whole}, static_cast<int32_t>(axis));
  };
  ParsedValues outputs;
  for (size_t i = 0; i < states; ++i) {
    if (const ParsedValue& before = node.input(i + 2); before.isList()) {
      const auto at = static_cast<size_t>(std::distance(lists.begin(), lists.find(i + 1)));
      const auto more = [&] { return Term(writer_, stack(results[i + 1].list().at(0), 0)); };
      outputs.push_back(grows[at] ? withMore(writer_, before, more()) : before);
      continue;
    }
    if (const auto axis = appended.find(i); axis != appended.end()) {
      outputs.push_back(append(node.input(i + 2), results[i + 1], axis->second));
      continue;
    }
    outputs.emplace_back(writer_.output(writer_.added(
        loop.addLoopOutput(writer_.output(*carried[i]), nvinfer1::LoopOutput::kLAST_VALUE), "addLoopOutput")));
  }
  for (size_t i = states + 1; i < results.size(); ++i) {
    if (!node.usesOutput(i - 1)) {
      outputs.emplace_back();
      continue;
    }
    outputs.push_back(stack(results[i], 0));
  }
  return outputs;
}

ParsedValues NodeImport::importScan(const OnnxNode& node, Scope& scope) {
  const pb::GraphProto& body = node.graph("body");
  const int64_t sliced = node.integer("num_scan_inputs", 0);
  if (sliced < 1 || sliced > static_cast<int64_t>(node.inputCount())) {
    fail(FaultKind::kInvalidNode, fmt::format("num_scan_inputs is {}, expected 1 to {}", sliced, node.inputCount()));
  }
  const size_t states = node.inputCount() - static_cast<size_t>(sliced);
  checkCount("inputs", static_cast<size_t>(body.input_size()), node.inputCount());
  if (static_cast<size_t>(body.output_size()) < states) {
    checkCount("outputs", static_cast<size_t>(body.output_size()), states);
  }
  const auto inputAxes = node.integers("scan_input_axes");
  const auto inputDirections = node.integers("scan_input_directions");
  const auto outputAxes = node.integers("scan_output_axes");
  const auto outputDirections = node.integers("scan_output_directions");
  const int32_t firstAxis = listed(inputAxes, 0, node.rank(states));
  const ParsedExtent length = writer_.dims(node.input(states))[static_cast<size_t>(firstAxis)];
  ITensor& count = writer_.tensor(writer_.fromExtents({length}, true));

  nvinfer1::ILoop& loop = addLoop(node, scope);
  Scope inner = subgraphScope(node, "body", scope);
  std::vector<nvinfer1::IRecurrenceLayer*> carried;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    const std::string& name = body.input(static_cast<int>(i)).name();
    if (i < states) {
      carried.push_back(&writer_.added(loop.addRecurrence(node.tensor(i)), "addRecurrence"));
      inner.values[name] = writer_.output(*carried.back());
      continue;
    }
    const int32_t axis = listed(inputAxes, i - states, node.rank(i));
    auto& iterator =
        writer_.added(loop.addIterator(node.tensor(i), axis, isListed(inputDirections, i - states)), "addIterator");
    inner.values[name] = writer_.output(iterator);
  }
  const size_t errors = environment_.errors.size();
  const ParsedValues results = importSubgraph(body, inner);
  if (environment_.errors.size() != errors) {
    return {};
  }
  resume(node, scope);
  writer_.added(loop.addTripLimit(count, nvinfer1::TripLimit::kCOUNT), "addTripLimit");
  ParsedValues outputs;
  for (size_t i = 0; i < results.size(); ++i) {
    if (i < states) {
      carried[i]->setInput(1, writer_.tensor(results[i]));
      outputs.emplace_back(writer_.output(writer_.added(
          loop.addLoopOutput(writer_.output(*carried[i]), nvinfer1::LoopOutput::kLAST_VALUE), "addLoopOutput")));
      continue;
    }
    const auto kind =
        isListed(outputDirections, i - states) ? nvinfer1::LoopOutput::kREVERSE : nvinfer1::LoopOutput::kCONCATENATE;
    const int32_t axis = listed(outputAxes, i - states, writer_.rankOf(results[i]) + 1);
    auto& layer = writer_.added(loop.addLoopOutput(writer_.tensor(results[i]), kind, axis), "addLoopOutput");
    layer.setInput(1, count);
    outputs.emplace_back(writer_.output(layer));
  }
  return outputs;
}

}  // namespace tenon::parsers::onnx
