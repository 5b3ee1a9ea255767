// IShuffleLayer: transpose, reshape, transpose.
#include <algorithm>
#include <numeric>

#include "api/network/lower_context.h"
#include "ops/op/transpose.h"

namespace tenon::api {
namespace {

constexpr nv::Permutation kIdentity{{0, 1, 2, 3, 4, 5, 6, 7}};

class ShuffleLayer final : public LayerOf<nv::IShuffleLayer, nv::apiv::VShuffleLayer, nv::LayerType::kSHUFFLE> {
 public:
  using LayerOf::LayerOf;

  void setFirstTranspose(const nv::Permutation& permutation) noexcept override { set(first_, permutation); }
  const nv::Permutation& getFirstTranspose() const noexcept override { return first_; }
  void setReshapeDimensions(const nv::Dims& dimensions) noexcept override { set(reshape_, dimensions); }
  nv::Dims getReshapeDimensions() const noexcept override { return reshape_; }
  void setSecondTranspose(const nv::Permutation& permutation) noexcept override { set(second_, permutation); }
  const nv::Permutation& getSecondTranspose() const noexcept override { return second_; }
  void setZeroIsPlaceholder(bool zeroIsPlaceholder) noexcept override { set(zeroCopies_, zeroIsPlaceholder); }
  bool getZeroIsPlaceholder() const noexcept override { return zeroCopies_; }
  int maxInputs() const override { return 2; }
  bool isShapeInput(int index) const override { return index == 1; }
  bool carriesShapes() const override { return true; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    graph::ValueId value = transpose(context, context.input(0), first_, "first");
    Shape wanted;
    if (context.has(1)) {
      wanted = context.contents(1, "reshape dimensions");
    } else if (reshape_.nbDims >= 0) {
      for (int i = 0; i < reshape_.nbDims && i < nv::Dims::MAX_DIMS; ++i) wanted.push_back(Extent(reshape_.d[i]));
    } else {
      wanted = context.shape(value);
    }
    const bool given = context.has(1) || reshape_.nbDims >= 0;
    if (given) resolve(context, wanted, context.shape(value));
    value = context.reshape(value, std::move(wanted));
    value = transpose(context, value, second_, "second");
    if (value == context.input(0)) value = context.add(ops::Pointwise{}, {value});
    return {value};
  }

 private:
  static graph::ValueId transpose(LowerContext& context, graph::ValueId value, const nv::Permutation& permutation,
                                  const char* which) {
    const int rank = context.rank(value);
    std::vector<int64_t> order(permutation.order, permutation.order + rank);
    std::vector<int64_t> identity(order.size());
    std::iota(identity.begin(), identity.end(), 0);
    if (order == identity) return value;
    context.check(std::is_permutation(order.begin(), order.end(), identity.begin()),
                  "the {} transpose [{}] is not a permutation of {} axes", which, fmt::join(order, ","), rank);
    return context.add(ops::Transpose{std::move(order)}, {value});
  }

  // Puts extents in place of 0 (the input's extent there) and of one -1 (what remains).
  void resolve(const LowerContext& context, Shape& wanted, const Shape& from) const {
    size_t wildcard = wanted.size();
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].isConstant(-1)) {
        context.check(wildcard == wanted.size(), "the reshape dimensions {} have more than one -1", text(wanted));
        wildcard = i;
      } else if (wanted[i].isConstant(0) && zeroCopies_) {
        context.check(i < from.size(),
                      "the 0 in the reshape dimensions {} copies dimension {} of an input with {} dimensions",
                      text(wanted), i, from.size());
        wanted[i] = from[i];
      }
      context.check(!wanted[i].isConstant() || wanted[i].constant() >= -1, "the reshape dimensions {} are negative",
                    text(wanted));
    }
    if (wildcard == wanted.size()) return;
    Shape others = wanted;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(wildcard));
    Shape rest = from;  // equal extents cancel, which also covers extents that may be zero
    std::erase_if(others, [&](const Extent& extent) {
      const auto found = std::find(rest.begin(), rest.end(), extent);
      if (found == rest.end()) return false;
      rest.erase(found);
      return true;
    });
    const Extent volume = product(rest);
    const Extent divisor = product(others);
    context.check(!divisor.isConstant(0),
                  "the -1 in the reshape dimensions {} of an input {} is ambiguous, because another extent is 0",
                  text(wanted), text(from));
    const Extent quotient = floorDiv(volume, divisor);
    const bool fixed = volume.isConstant() && divisor.isConstant();
    context.check(!fixed || quotient.constant() * divisor.constant() == volume.constant(),
                  "the input {} cannot be reshaped to {}: {} elements do not divide by {}", text(from), text(wanted),
                  product(from).text(), product(others).text());
    wanted[wildcard] = quotient;
  }

  nv::Permutation first_ = kIdentity;
  nv::Permutation second_ = kIdentity;
  nv::Dims reshape_{-1, {}};
  bool zeroCopies_ = true;
};

}  // namespace

LayerInfo layerInfo_shuffle() { return describeLayer<ShuffleLayer>(); }

}  // namespace tenon::api
