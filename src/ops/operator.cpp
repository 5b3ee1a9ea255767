// Shape inference helpers and the text form of operators.
#include "ops/operator.h"
#include "ops/region.h"

#include <algorithm>

#include "core/extent_length.h"
#include "ops/region.h"

namespace tenon::ops {

const TensorType& InferContext::input(size_t i) const {
  check(i < inputs_.size(), "input {} is missing, {} are given", i, inputs_.size());
  return inputs_[i];
}

void InferContext::output(DataType dtype, Shape shape, std::optional<std::vector<Extent>> contents) {
  check(shape.size() <= static_cast<size_t>(kMaxRank), "output has {} dimensions, at most {} are possible",
        shape.size(), kMaxRank);
  const bool negative =
      std::any_of(shape.begin(), shape.end(), [](const Extent& e) { return e.isConstant() && e.constant() < 0; });
  if (negative) check(false, "output shape {} has a negative extent", tenon::text(shape));  // text is made only then
  outputs_.push_back({dtype, std::move(shape), std::move(contents)});
}

const std::vector<Extent>& InferContext::contents(size_t i, std::string_view role) const {
  const auto& type = input(i);
  if (!type.contents) {
    throw Unsupported("{}: {} (input {}) depends on an execution tensor; it must be computed from shapes and constants",
                      node_, role, i);
  }
  check(!isFloating(type.dtype), "{} (input {}) has type {}, expected integers", role, i, name(type.dtype));
  return *type.contents;
}

Extent InferContext::merge(const Extent& a, const Extent& b, std::string_view role) const {
  if (a == b) return a;
  check(!a.isConstant() || !b.isConstant(), "{}: extents {} and {} differ", role, a.text(), b.text());
  return a.isConstant() ? a : b.isConstant() ? b : (a.text() <= b.text() ? a : b);
}

Shape InferContext::broadcast(const Shape& a, const Shape& b) const {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const Extent& x = longer[offset + i];
    const Extent& y = shorter[i];
    if (x == y || y.isConstant(1)) continue;
    if (x.isConstant(1)) {
      result[offset + i] = y;
    } else if (x.isConstant() || y.isConstant()) {
      check(!x.isConstant() || !y.isConstant(), "shapes {} and {} do not broadcast", tenon::text(a), tenon::text(b));
      result[offset + i] = x.isConstant() ? x : y;  // the symbolic one is 1 or the same
    } else {
      result[offset + i] = max(x, y);
    }
  }
  return result;
}

int InferContext::axis(int64_t axis, int rank) const {
  check(axis >= -rank && axis < rank, "axis {} is outside [{}, {})", axis, -rank, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void InferContext::failWith(const std::string& message) const { throw UserError("{}: {}", node_, message); }

std::vector<TensorType> Operator::infer(std::string_view node, std::span<const TensorType> inputs) const {
  InferContext context(node, inputs);
  try {
    model_->infer(context);
  } catch (const ExtentTooLong& error) {
    throw ExtentTooLong("{}: {}", node, error.what());
  } catch (const BadRegion& error) {
    throw BadRegion("{}: {}", node, error.what());
  } catch (const UserError& error) {
    if (std::string_view(error.what()).starts_with(node)) throw;
    throw UserError("{}: {}", node, error.what());  // the arithmetic of extents does not know whose they are
  }
  return context.takeOutputs();
}

std::string Operator::text() const {
  const auto fields = model_->fieldText();
  return fields.empty() ? std::string(name()) : fmt::format("{}{{{}}}", name(), fields);
}

Operator Operator::parse(TextReader& in) {
  const auto name = in.identifier();
  const auto* info = findOperator(name);
  if (info == nullptr) in.fail(fmt::format("unknown operator '{}'", name));
  if (!in.accept("{")) return info->defaults();
  Operator result = info->read(in);
  in.expect("}");
  return result;
}

Operator Operator::parse(std::string_view text) {
  TextReader in(text, "operator");
  Operator result = parse(in);
  if (!in.atEnd()) in.fail("unexpected text after the operator");
  return result;
}

const OperatorInfo* findOperator(std::string_view name) {
  const auto table = operatorTable();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const OperatorInfo& info) { return info.name == name; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace tenon::ops
