// Scaled dot-product attention.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

// Inputs: q, k, v, and a mask when hasMask; floating, one type. Output: softmax(scale * q k^T + mask) v, the softmax
// over the keys. With heads = 0: q [...,S,D], k [...,T,D], v [...,T,E], output [...,S,E], equal leading extents; but
// the last of them, the heads, may be fewer of k and v: q [...,G*R,S,D], k [...,G,T,D], then R neighbours share one.
// With heads = H: q [...,S,H*D], k [...,T,H*D], v [...,T,H*E], output [...,S,H*E], at least one leading axis, each head
// on its own columns; with keyHeads = G also k [...,T,G*D], v [...,T,G*E], of which H/G neighbours share a head. The
// mask broadcasts (aligned at the right) to the scores: [...,S,T], with heads [...,H,S,T]; -infinity leaves a key out.
// When packed (with heads, D = E), the only operand before the mask is [...,S,3*H*D]: the columns of q, of k, of v.
// When causal, row s of q sees the keys 0 to s only. A row that leaves all keys out is NaN, as the softmax operator's;
// with emptyIsZero the weights of such a row, and of any other whose softmax is no number, are 0: so is the result
// where the values are finite, and NaN where one of them is not, as in any product. On a GPU a row with a score that is
// NaN may be NaN or 0, whatever its values. With a softcap c above 0, scores are c * tanh(scale * q k^T / c) before the
// mask is added.
struct Attention {
  static constexpr std::string_view kName = "attention";
  int64_t heads = 0;
  int64_t keyHeads = 0;  // 0: as many as heads
  double scale = 1;
  bool hasMask = false;
  bool packed = false;
  bool emptyIsZero = false;
  bool causal = false;
  double softcap = 0;
  static constexpr auto fields =
      std::tuple{field("heads", &Attention::heads),   field("keyHeads", &Attention::keyHeads),
                 field("scale", &Attention::scale),   field("hasMask", &Attention::hasMask),
                 field("packed", &Attention::packed), field("emptyIsZero", &Attention::emptyIsZero),
                 field("causal", &Attention::causal), field("softcap", &Attention::softcap)};

  size_t maskInput() const { return packed ? 1 : 3; }
  int64_t queriesOfKeys(const Dims& q, const Dims& k) const;  // heads of q that share one of k
  int64_t headsOfKeys() const { return keyHeads > 0 ? keyHeads : heads; }

  double capped(double score) const;  // of a scaled score

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;

 private:
  void checkMask(const InferContext& context, const Shape& q, const Extent& keys) const;
};

}  // namespace tenon::ops
