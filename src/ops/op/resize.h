// Interpolation of a tensor to another size.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Linear and cubic are separable: the product of the weights of each axis.
enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };
constexpr std::array<std::string_view, 3> enumNames(ResizeMode) { return {"nearest", "linear", "cubic"}; }

// Input coordinate of output index o: o * (in - 1) / (out - 1); o / scale; (o + 0.5) / scale - 0.5.
enum class CoordinateTransform : uint8_t { kAlignCorners, kAsymmetric, kHalfPixel };
constexpr std::array<std::string_view, 3> enumNames(CoordinateTransform) {
  return {"align_corners", "asymmetric", "half_pixel"};
}

// Coordinate of an axis of output extent 1: the formula above, or 0.
enum class SelectorForSinglePixel : uint8_t { kFormula, kUpper };
constexpr std::array<std::string_view, 2> enumNames(SelectorForSinglePixel) { return {"formula", "upper"}; }

// How nearest makes an index of a coordinate.
enum class NearestRounding : uint8_t { kHalfUp, kHalfDown, kFloor, kCeil };
constexpr std::array<std::string_view, 4> enumNames(NearestRounding) {
  return {"half_up", "half_down", "floor", "ceil"};
}

// Input: x. Output: the given shape, of the rank of x. Indices outside the input take its edge (cubic with
// excludeOutside: weight 0, the others renormalised). scale is out / in, exactly, or the given one, also one that is
// computed when shapes are bound; with that, coordinates are computed in float as kernels do, so that nearest picks the
// same element at ties.
struct Resize {
  static constexpr std::string_view kName = "resize";
  ResizeMode mode = ResizeMode::kNearest;
  CoordinateTransform coordinates = CoordinateTransform::kAsymmetric;
  SelectorForSinglePixel selector = SelectorForSinglePixel::kFormula;
  NearestRounding rounding = NearestRounding::kFloor;
  double cubicCoeff = -0.75;
  bool excludeOutside = false;
  Shape shape;                 // of the output
  std::vector<double> scales;  // per axis; empty: out / in, or scaleBits
  Shape scaleBits;             // per axis: the bits of a scale in f32, where it is computed; or empty
  static constexpr auto fields = std::tuple{field("mode", &Resize::mode),
                                            field("coordinates", &Resize::coordinates),
                                            field("selector", &Resize::selector),
                                            field("rounding", &Resize::rounding),
                                            field("cubicCoeff", &Resize::cubicCoeff),
                                            field("excludeOutside", &Resize::excludeOutside),
                                            field("shape", &Resize::shape),
                                            field("scales", &Resize::scales),
                                            field("scaleBits", &Resize::scaleBits)};

  // With the scales that have been computed; UserError where one is not above zero.
  Resize bound(const SymbolValues* symbols) const;
  // Whether an axis is interpolated by a scale although its extent stays.
  bool isScaled(size_t axis) const;

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
