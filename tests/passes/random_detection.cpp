// Operators of detectors and of sampling at computed places. Where a number decides (which box is kept, which pixel is
// read), it is a constant, as a rounding before it would change the result.
#include "random_generator.h"

namespace tenon::passes {

void Generator::anyDetection(ValueId x) {
  const Shape in = shape(x);
  const auto add = [&](const std::string& op, std::vector<ValueId> inputs) {
    put(ops::Operator::parse(op), std::move(inputs));
  };
  const bool isImage = in.size() == 4 && isConstantFrom(x, 1) && elements(x) > 0 && elements(x) <= 600;
  switch (pick(isImage ? 6 : 4)) {
    case 0:
      return add(fmt::format("padded_nms{{keep={} overlapThreshold=0.3 agnostic={} perClass={}}}", 1 + pick(5),
                             pick(2) == 0, pick(4)),
                 {weights({1, 7, 1, 4}), weights({1, 7, 2})});
    case 1: {
      if (pick(2) == 0) return anyRecurrent(x);
      const Dims counts{1};
      HostTensor count(DataType::kI32, counts);
      count.view().storeInt(0, pick(10));
      return add("pillars{pillars=3 points=2 range=[-1,-1,-1,1,1,1] size=[1,0.5,2]}",
                 {weights({1, 9, 5}), graph_.addConstant(graph::Constant::own(std::move(count)))});
    }
    case 2: {
      if (pick(2) == 0) {  // there and back
        const ValueId bits = graph_.add(ops::Operator::parse("bitcast{type=i32}"), "", {x});
        return add("bitcast{type=f32}", {bits});
      }
      HostTensor shapes(DataType::kI32, {1, 2}), starts(DataType::kI64, {1});
      shapes.view().storeInt(0, 3);
      shapes.view().storeInt(1, 2);
      starts.view().storeInt(0, 0);
      return add("deformable_attention",
                 {weights({1, 6, 2, 3}), graph_.addConstant(graph::Constant::own(std::move(shapes))),
                  graph_.addConstant(graph::Constant::own(std::move(starts))), weights({1, 2, 2, 1, 3, 2}),
                  weights({1, 2, 2, 1, 3})});
    }
    case 3: {
      if (in.empty() || !isConstantFrom(x, 0) || elements(x) == 0 || elements(x) > 600) return unary(x);
      Dims some;
      for (const auto& extent : in) some.push(1 + pick(extent.constant()));
      const int64_t axis = pick(some.rank);
      const int64_t limit = in[static_cast<size_t>(axis)].constant();
      const char* const kinds[] = {"max", "min"};
      return add(fmt::format("scatter_reduce{{op={} axis={}}}", kinds[pick(2)], axis),
                 {x, indices(some, -limit, limit), weights(some)});
    }
    case 4: {
      if (pick(3) == 0) {
        const char* const kinds[] = {"zero", "clamp", "reflect"};
        const bool isKnown = in[0].isConstant();
        return add(fmt::format("grid_sample{{border={} alignCorners={}}}", kinds[pick(3)], pick(2) == 0),
                   {isKnown ? x : weights({1, 2, 4, 3}), weights({isKnown ? in[0].constant() : 1, 2, 3, 2})});
      }
      const int64_t count = 1 + pick(3);
      HostTensor origins(DataType::kI32, {count, 2});
      for (int64_t i = 0; i < count * 2; ++i) origins.view().storeInt(i, 0);
      const char* const borders[] = {"clamp", "margin", "zero"};
      return add(
          fmt::format("roi_align{{height=2 width={} samples={} border={}}}", 1 + pick(2), pick(3), borders[pick(3)]),
          {weights({count, 4}), graph_.addConstant(graph::Constant::own(std::move(origins))), x});
    }
    default: {
      if (!in[0].isConstant()) return unary(x);
      const Dims places{in[0].constant(), 2, in[2].constant(), in[3].constant()};
      return add("deformable_columns", {x, weights(places)});
    }
  }
}

}  // namespace tenon::passes
