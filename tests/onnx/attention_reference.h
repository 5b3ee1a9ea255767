// Attention by its formula in double, and operands for it: what the tests of attention in models compare with.
#pragma once

#include <cmath>
#include <limits>

#include "network_run.h"

namespace tenon::parsers::onnx {

struct Form {
  int64_t batch, heads, keyHeads, rows, keys, width, valueWidth;
  double scale = 0;
  double softcap = 0;
  bool causal = false;
  int64_t past = 0;  // keys before the first row
};

// q [B, H, S, D], k [B, G, T, D], v [B, G, T, E]; bias [S, T], [H, S, T], [B, H, S, T] or empty: the result [B, H, S,
// E].
inline std::vector<double> attention(const Form& f, const Reals& q, const Reals& k, const Reals& v, const Reals& bias) {
  std::vector<double> result;
  const double scale = f.scale != 0 ? f.scale : 1 / std::sqrt(static_cast<double>(f.width));
  for (int64_t b = 0; b < f.batch; ++b) {
    for (int64_t h = 0; h < f.heads; ++h) {
      const int64_t g = b * f.keyHeads + h * f.keyHeads / f.heads;
      for (int64_t s = 0; s < f.rows; ++s) {
        std::vector<double> weights;
        double most = -std::numeric_limits<double>::infinity();
        for (int64_t t = 0; t < f.keys; ++t) {
          double sum = 0;
          for (int64_t d = 0; d < f.width; ++d) {
            sum += static_cast<double>(q[static_cast<size_t>(((b * f.heads + h) * f.rows + s) * f.width + d)]) *
                   k[static_cast<size_t>((g * f.keys + t) * f.width + d)];
          }
          sum *= scale;
          if (f.softcap != 0) sum = f.softcap * std::tanh(sum / f.softcap);
          if (!bias.empty())
            sum += bias[static_cast<size_t>(((b * f.heads + h) * f.rows + s) * f.keys + t) % bias.size()];
          if (f.causal && t > s + f.past) sum = -std::numeric_limits<double>::infinity();
          weights.push_back(sum);
          most = std::max(most, sum);
        }
        double total = 0;
        for (double& weight : weights) total += weight = std::isinf(most) ? 0 : std::exp(weight - most);
        for (int64_t e = 0; e < f.valueWidth; ++e) {
          double sum = 0;
          for (int64_t t = 0; t < f.keys; ++t) {
            sum += weights[static_cast<size_t>(t)] * v[static_cast<size_t>((g * f.keys + t) * f.valueWidth + e)];
          }
          result.push_back(total == 0 ? 0 : sum / total);
        }
      }
    }
  }
  return result;
}

struct Operands {
  Reals q, k, v;
  explicit Operands(const Form& f)
      : q(randomReals(static_cast<size_t>(f.batch * f.heads * f.rows * f.width), 1)),
        k(randomReals(static_cast<size_t>(f.batch * f.keyHeads * f.keys * f.width), 2)),
        v(randomReals(static_cast<size_t>(f.batch * f.keyHeads * f.keys * f.valueWidth), 3)) {}
};

}  // namespace tenon::parsers::onnx
