// Scaled dot-product attention as all attention operators of models use it: heads, masks, grouped queries, soft caps.
#pragma once

#include <optional>
#include <vector>

#include "onnx_node.h"

namespace tenon::parsers::onnx {

struct AttentionCore {
  Term query;  // [batch, heads, rows, width]
  Term key;    // [batch, key heads, keys, width]
  Term value;  // [batch, key heads, keys, value width]
  double scale = 1;
  double softcap = 0;         // 0: none
  std::optional<Term> bias;   // added to the scores, to which it broadcasts
  std::vector<Term> allowed;  // truth values that broadcast to the scores: keys that a row sees
  std::optional<DataType> softmaxType;
  std::optional<Term> sink;  // a score beside those of the keys, of a key without a value: [1, heads or 1, 1, 1]
  bool emptyIsZero = true;   // rows that see no key give 0, otherwise what a softmax over nothing gives

  struct Result {
    Term output;   // [batch, heads, rows, value width]
    Term raw;      // the scaled scores
    Term capped;   // after the soft cap
    Term biased;   // after bias and masks
    Term weights;  // after the softmax
  };
  Result run() const;
};

// [batch, rows, heads * width] as [batch, heads, rows, width], and back.
Term splitHeads(const Term& packed, int64_t heads);
Term joinHeads(const Term& split);
// Each of the key heads `times` times, one after the other: [batch, heads, keys, width].
Term repeatHeads(const Term& split, int64_t times);

// Rotates pairs of the first 2 * (last extent of cosines) columns of x [batch, rows, heads, width]; the caches are
// [batch or 1, rows, 1, pairs]. Pairs are neighbours where interleaved, otherwise column i and i + pairs.
Term rotate(const Term& x, const Term& cosines, const Term& sines, bool interleaved);

}  // namespace tenon::parsers::onnx
