// Reals and extents in the JSON of a capture.
#include "player/values.h"

#include <limits>

namespace tenon::capture {

bool asReal(const Json& value, double& result) {
  if (value.is_number()) {
    result = value.get<double>();
    return true;
  }
  const std::string text = value.is_string() ? value.get<std::string>() : std::string();
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  result = text == "inf" ? infinity : text == "-inf" ? -infinity : text == "-nan" ? -nan : nan;
  return text == "inf" || text == "-inf" || text == "nan" || text == "-nan";
}

uint64_t idAt(const Json& value, const char* key) {
  const Json id = value.value(key, Json());
  return id.is_number_unsigned() ? id.get<uint64_t>() : 0;
}

Json dimsJson(const nvinfer1::Dims& dims) {
  if (dims.nbDims < 0 || dims.nbDims > nvinfer1::Dims::MAX_DIMS) {
    return Json{{"nbDims", dims.nbDims}};
  }
  Json result = Json::array();
  for (int i = 0; i < dims.nbDims; ++i) {
    result.push_back(dims.d[i]);
  }
  return result;
}

}  // namespace tenon::capture
