// Sums and scalings of rows of f32 for normalization and resizing, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::backends::cpu {

struct ChannelValues {
  const float* scale = nullptr;
  const float* bias = nullptr;
  int64_t scaleStep = 1, biasStep = 1;  // from one row to the next
};

struct RowFunctions {
  double (*sum)(const float* x, size_t count);
  double (*squares)(const float* x, float mean, size_t count);       // sum of (x - mean)^2
  double (*products)(const float* x, const float* y, size_t count);  // sum of x * y
  double (*magnitudes)(const float* x, size_t count);                // sum of |x|
  // y = (x - mean) * factor * scale[i] + bias[i]
  void (*scaleEach)(const float* x, float* y, size_t count, float mean, float factor, const float* scale,
                    const float* bias);
  // sums[i] += x[i] + x[step + i] + ..., one after another, over `rows` rows
  void (*addRows)(const float* x, size_t step, size_t rows, double* sums, size_t count);
  // y = (x - mean) * factor + bias
  void (*scaleAll)(const float* x, float* y, size_t count, float mean, float factor, float bias);
  // Rows behind each other by sum(), where `centered`, squares() and scaleEach()
  void (*normalize)(const float* x, float* y, size_t rows, size_t count, bool centered, double epsilon,
                    const float* scale, const float* bias);
  // The same of rows that have one scale and one bias each, by scaleAll()
  void (*normalizeChannels)(const float* x, float* y, size_t rows, size_t count, bool centered, double epsilon,
                            ChannelValues values);
  // y[i] = weights[0] * x[places[0] * step + i] + weights[1] * x[places[1] * step + i] + ...
  void (*combine)(const float* x, const int64_t* places, const float* weights, size_t taps, size_t step, float* y,
                  size_t count);
  // y[i] = start + lines[0][i] + lines[1][i] + ..., added in this order
  void (*addLines)(const float* const* lines, size_t number, float start, float* y, size_t count);
};

// The best ones for this processor.
const RowFunctions& rowFunctions();

}  // namespace tenon::backends::cpu
