// IGridSampleLayer: an operator of its own for images; of volumes, and where interpolation is cubic, gathers of the
// pixels around each place of the grid, weighted. Places follow ONNX's GridSample.
#include "ops/op/grid_sample.h"
#include "api/network/formula.h"

namespace tenon::api {
namespace {

using ops::ScalarOp;

Formula floorOf(const Formula& x) { return x.scalar(ScalarOp::k_floor); }
Formula absOf(const Formula& x) { return x.scalar(ScalarOp::k_abs); }
Formula clamped(const Formula& x, const Formula& low, const Formula& high) { return smaller(larger(x, low), high); }

// One spatial axis of the sampling: places [batch, points] in pixels, and which pixels there are.
struct GridAxis {
  Formula place;
  Formula extent;  // one element
};

// A pixel of one axis for each point, and its weight.
struct Tap {
  Formula pixel;
  Formula weight;
};

class GridSampleLayer final
    : public LayerOf<nv::IGridSampleLayer, nv::apiv::VGridSampleLayer, nv::LayerType::kGRID_SAMPLE> {
 public:
  using LayerOf::LayerOf;

  void setInterpolationMode(nv::InterpolationMode mode) noexcept override {
    setEnum("setInterpolationMode", interpolation_, mode);
  }
  nv::InterpolationMode getInterpolationMode() const noexcept override { return interpolation_; }
  void setAlignCorners(bool alignCorners) noexcept override { set(alignCorners_, alignCorners); }
  bool getAlignCorners() const noexcept override { return alignCorners_; }
  bool setSampleMode(nv::SampleMode mode) noexcept override {
    return guarded(reporter(), "IGridSampleLayer::setSampleMode", false, [&] {
      checkUser(mode == nv::SampleMode::kFILL || mode == nv::SampleMode::kCLAMP || mode == nv::SampleMode::kREFLECT,
                "layer '{}': the sample mode is {}; expected kFILL, kCLAMP or kREFLECT", name(),
                static_cast<int>(mode));
      set(mode_, mode);
      return true;
    });
  }
  nv::SampleMode getSampleMode() const noexcept override { return mode_; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const Formula x(context, context.input(0));
    const Formula grid(context, context.input(1));
    const int spatial = x.rank() - 2;
    context.check(spatial == 2 || spatial == 3, "the input {} has {} dimensions; expected 4 or 5", text(x.shape()),
                  x.rank());
    context.check(grid.rank() == x.rank() && grid.dim(-1).isConstant(spatial),
                  "the grid has shape {}; expected {} dimensions, the last of extent {}", text(grid.shape()), x.rank(),
                  spatial);
    context.check(isFloating(x.type()) && isFloating(grid.type()), "the input is {} and the grid {}; expected floating",
                  tenon::name(x.type()), tenon::name(grid.type()));
    const bool cubic = interpolation_ == nv::InterpolationMode::kCUBIC;
    context.check(!cubic || spatial == 2, "cubic interpolation of an input {}; expected 4 dimensions", text(x.shape()));
    if (spatial == 2 && !cubic) return {sampledImage(context, x, grid)};
    const Extent batch = grid.dim(0);
    Extent points(1);
    for (int i = 1; i <= spatial; ++i) points = points * grid.dim(i);
    const Formula places = grid.cast(DataType::kF32).reshape({batch, points, Extent(spatial)});
    std::vector<GridAxis> axes;
    for (int i = 0; i < spatial; ++i) {  // the grid counts its axes from the last one
      const Formula size = extentOf(x, 2 + i, DataType::kF32);
      const Formula place = places.slice(2, Extent(spatial - 1 - i), Extent(1)).reshape({batch, points});
      axes.push_back({inPixels(place, size), size});
    }
    Extent pixels(1);
    for (int i = 0; i < spatial; ++i) pixels = pixels * x.dim(2 + i);
    const Formula flat = x.reshape({x.dim(0), x.dim(1), pixels});
    const Formula sampled = sample(flat, axes);
    Shape shape{batch, x.dim(1)};
    for (int i = 1; i <= spatial; ++i) shape.push_back(grid.dim(i));
    return {sampled.cast(x.type()).reshape(std::move(shape)).id()};
  }

 private:
  graph::ValueId sampledImage(LowerContext& context, const Formula& x, const Formula& grid) const {
    ops::GridSample op;
    op.mode = interpolation_ == nv::InterpolationMode::kNEAREST ? ops::GridMode::kNearest : ops::GridMode::kLinear;
    op.border = mode_ == nv::SampleMode::kCLAMP     ? ops::GridBorder::kClamp
                : mode_ == nv::SampleMode::kREFLECT ? ops::GridBorder::kReflect
                                                    : ops::GridBorder::kZero;
    op.alignCorners = alignCorners_;
    const Formula places = grid.type() == x.type() ? grid : grid.cast(DataType::kF32);
    return context.add(op, {x.id(), places.id()});
  }

  // -1 and 1 are the middles of the outer pixels, or their outer borders.
  Formula inPixels(const Formula& place, const Formula& size) const {
    const Formula pixels = alignCorners_ ? (place + 1.0) * ((size - 1.0) * 0.5) : ((place + 1.0) * size - 1.0) * 0.5;
    const bool exact = interpolation_ != nv::InterpolationMode::kCUBIC;  // cubic maps the pixels around instead
    return exact ? mapped(pixels, size) : pixels;
  }

  // A place outside at the place that stands for it.
  Formula mapped(const Formula& pixel, const Formula& size) const {
    const Formula zero = pixel.number(0);
    if (mode_ == nv::SampleMode::kCLAMP) return clamped(pixel, zero, size - 1.0);
    if (mode_ != nv::SampleMode::kREFLECT) return pixel;
    // Mirrored at the ends [low, low + span], again and again; a span of 0 has one place.
    const double low = alignCorners_ ? 0.0 : -0.5;
    const Formula span = alignCorners_ ? size - 1.0 : size;
    const Formula safe = larger(span, span.number(1e-6));
    const Formula distance = absOf(pixel - low);
    const Formula turns = floorOf(distance / safe);
    const Formula rest = distance - turns * safe;
    const Formula odd = turns - floorOf(turns * 0.5) * 2.0;
    const Formula mirrored = where(odd > 0.5, safe - rest, rest) + low;
    return clamped(where(span > 0.0, mirrored, zero), zero - 0.5, size - 0.5);
  }

  std::vector<Tap> taps(const GridAxis& axis) const {
    const Formula& place = axis.place;
    if (interpolation_ == nv::InterpolationMode::kNEAREST) {
      return {{place.scalar(ScalarOp::k_round), place.number(1)}};
    }
    const Formula first = floorOf(place);
    const Formula part = place - first;
    if (interpolation_ == nv::InterpolationMode::kLINEAR) return {{first, 1.0 - part}, {first + 1.0, part}};
    // The cubic convolution kernel with a = -0.75, by distance below 1 and below 2.
    const auto near = [](const Formula& t) { return (t * 1.25 - 2.25) * t * t + 1.0; };
    const auto far = [](const Formula& t) { return ((t * -0.75 + 3.75) * t - 6.0) * t + 3.0; };
    std::vector<Tap> result{{first - 1.0, far(part + 1.0)},
                            {first, near(part)},
                            {first + 1.0, near(1.0 - part)},
                            {first + 2.0, far(2.0 - part)}};
    for (Tap& tap : result) tap.pixel = mapped(tap.pixel, axis.extent);
    if (mode_ == nv::SampleMode::kREFLECT) {
      for (Tap& tap : result) tap.pixel = tap.pixel.scalar(ScalarOp::k_round);
    }
    return result;
  }

  // The sum over all combinations of taps of the axes: [batch, channels, points].
  Formula sample(const Formula& flat, const std::vector<GridAxis>& axes) const {
    std::vector<std::vector<Tap>> all;
    size_t combinations = 1;
    for (const GridAxis& axis : axes) {
      all.push_back(taps(axis));
      combinations *= all.back().size();
    }
    std::optional<Formula> sum;
    for (size_t number = 0; number < combinations; ++number) {
      std::optional<Formula> index;
      std::optional<Formula> weight;
      size_t rest = number;
      for (size_t i = 0; i < axes.size(); ++i) {
        const Tap& tap = all[i][rest % all[i].size()];
        rest /= all[i].size();
        const Formula last = axes[i].extent - 1.0;
        const Formula inside = clamped(tap.pixel, last.number(0), last);
        Formula factor = tap.weight;
        if (mode_ == nv::SampleMode::kFILL) factor = where(equal(inside, tap.pixel), factor, factor.number(0));
        weight = weight ? *weight * factor : factor;
        // Integers from here on: a float counts 2^24 pixels only.
        const Formula row = inside.cast(DataType::kI32);
        index = index ? *index * axes[i].extent.cast(DataType::kI32) + row : row;
      }
      const Formula picked = flat.gather(*index, 2, 1).cast(DataType::kF32);
      const Formula part = interpolation_ == nv::InterpolationMode::kNEAREST && mode_ != nv::SampleMode::kFILL
                               ? picked
                               : picked * weight->unsqueeze(1);
      sum = sum ? *sum + part : part;
    }
    return *sum;
  }

  nv::InterpolationMode interpolation_ = nv::InterpolationMode::kLINEAR;
  nv::SampleMode mode_ = nv::SampleMode::kFILL;
  bool alignCorners_ = false;
};

}  // namespace

LayerInfo layerInfo_grid_sample() { return describeLayer<GridSampleLayer>(); }

}  // namespace tenon::api
