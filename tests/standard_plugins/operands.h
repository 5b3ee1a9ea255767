// Operands of plugins as doubles, and as the bytes that a device reads.
#pragma once

#include <NvInfer.h>

#include <random>
#include <string>
#include <vector>

#include "support/shared_memory.h"

namespace tenon::test {

namespace nv = nvinfer1;

// A tensor, whatever its type, as doubles.
struct Array {
  std::vector<int64_t> dims;
  std::vector<double> values;
  nv::DataType type = nv::DataType::kFLOAT;

  int64_t count() const;
  double at(std::initializer_list<int64_t> index) const;
};
using Arrays = std::vector<Array>;

// Whether TENON_TEST_HALVES is set: floating operands are FP16 wherever the plugin takes that, random numbers are those
// that FP16 holds, and results may differ by its roundings.
bool inHalves();
// The nearest number that operands can be: in FP32, or then in FP16.
double held(double value);

// Random numbers from a fixed seed; FP32 values are rounded to 1/1024 so that half of everything is exact.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  double real(double low, double high);
  int64_t whole(int64_t low, int64_t high);
  Array array(std::vector<int64_t> dims, double low = -1, double high = 1);
  Array wholes(std::vector<int64_t> dims, int64_t low, int64_t high, nv::DataType type = nv::DataType::kINT32);
  // [.., boxes, 4] with ends in order, between 0 and `size`.
  Array boxes(std::vector<int64_t> dims, double size);
  // [..] distinct numbers between 0 and 1, so that orders have no ties.
  Array distinct(std::vector<int64_t> dims);

 private:
  std::mt19937 engine_;
};

SharedVector<char> toBytes(const Array& array);
void fromBytes(const SharedVector<char>& bytes, Array& array);
nv::Dims toDims(const std::vector<int64_t>& dims);
std::vector<int64_t> fromDims(const nv::Dims& dims);

}  // namespace tenon::test
