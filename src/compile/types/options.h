// What a weakly typed network leaves to the builder about its types, and what the user demands.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace tenon::compile {

struct TypeOptions {
  std::vector<DataType> halves;  // that f32 values may have in place of f32: f16, bf16, both, the preferred one first
  // Demands by name. A layer's: f32 keeps it as it is, a half computes in it whatever is around. A tensor's: the type
  // that what reads it gets, where the tensor is left after fusion.
  std::map<std::string, DataType, std::less<>> layers;
  std::map<std::string, DataType, std::less<>> tensors;
  bool obey = false;  // a demand that cannot be met is Unsupported, else one line of the log
};

}  // namespace tenon::compile
