// What a device says of itself whose kernels compute in f16 and bf16. Elsewhere halves are converted to f32 and back,
// and pay nowhere.
#pragma once

namespace tenon::runtime {

class HalfPrecision {
 public:
  virtual ~HalfPrecision() = default;
};

}  // namespace tenon::runtime
