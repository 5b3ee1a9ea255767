// What a layer computes, in the words of TensorRT's engine inspector: its kind and the fields of that kind.
#pragma once

#include <string>
#include <vector>

#include "plan/program.h"

namespace tenon::plan {

// One field. `value` is JSON (a number, a list, an object), or plain text.
struct Parameter {
  std::string name;
  std::string value;
  bool isText = false;
};

struct LayerParameters {
  std::string layerType;
  std::string parameterType;  // empty: the layer has no parameters
  std::vector<Parameter> fields;
};

// `symbols`: what a context has bound, or null; a number that depends on others is -1.
LayerParameters layerParameters(const Program& program, const Step& step, const SymbolValues* symbols);

// The value of an extent under the symbols; -1 where one is not bound.
int64_t knownExtent(const Extent& extent, const SymbolValues* symbols);
// The elements of a shape like that: [1,-1,3].
std::string knownExtents(const Shape& shape, const SymbolValues* symbols);

// Float, Half, Int8, ...: element types as the inspector names them.
std::string_view inspectorName(DataType type) noexcept;

}  // namespace tenon::plan
