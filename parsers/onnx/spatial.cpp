// Reads the window attributes that convolutions and pools share.
#include "spatial.h"

namespace tenon::onnxparser {
namespace {

Shape listOf(const Node& node, const char* name, size_t size, int64_t fallback) {
  Shape list = node.integers(name);
  if (list.empty()) {
    list.assign(size, fallback);
  }
  if (list.size() != size) {
    fail(ErrorCode::kINVALID_NODE,
         fmt::format("attribute '{}' = {} has {} entries; expected {}", name, toString(list), list.size(), size));
  }
  for (const int64_t number : list) {
    if (number < fallback || number > INT32_MAX) {
      fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
           fmt::format("attribute '{}' = {}: entry {} is too {}; expected {} to {}", name, toString(list), number,
                       number < fallback ? "small" : "large", fallback, INT32_MAX));
    }
  }
  return list;
}

}  // namespace

void Spatial::appendUnitAxis() {
  kernel.push_back(1);
  strides.push_back(1);
  dilations.push_back(1);
  padsBegin.push_back(0);
  padsEnd.push_back(0);
}

Spatial readSpatial(const Node& node, Shape kernel) {
  Spatial spatial;
  spatial.kernel = std::move(kernel);
  const size_t rank = spatial.kernel.size();
  const Shape declared = node.integers("kernel_shape");
  if (!declared.empty() && declared != spatial.kernel) {
    fail(ErrorCode::kINVALID_NODE,
         fmt::format("kernel_shape = {} disagrees with the weights' {}", toString(declared), toString(spatial.kernel)));
  }
  spatial.strides = listOf(node, "strides", rank, 1);
  spatial.dilations = listOf(node, "dilations", rank, 1);
  const Shape pads = listOf(node, "pads", 2 * rank, 0);
  spatial.padsBegin.assign(pads.begin(), pads.begin() + static_cast<int64_t>(rank));
  spatial.padsEnd.assign(pads.begin() + static_cast<int64_t>(rank), pads.end());
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    spatial.mode = automatic == "SAME_UPPER" ? nvinfer1::PaddingMode::kSAME_UPPER : nvinfer1::PaddingMode::kSAME_LOWER;
  } else if (automatic != "NOTSET" && automatic != "VALID" && !automatic.empty()) {
    fail(ErrorCode::kUNSUPPORTED_NODE_ATTR,
         fmt::format("auto_pad = '{}'; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", automatic));
  }
  if (automatic != "NOTSET" && !automatic.empty()) {
    spatial.padsBegin.assign(rank, 0);
    spatial.padsEnd.assign(rank, 0);
  }
  return spatial;
}

Value withUnitAxis(Emitter& emitter, const Value& value) { return emitter.unsqueeze(value, {emitter.rankOf(value)}); }

Value withoutUnitAxis(Emitter& emitter, const Value& value) {
  return emitter.squeeze(value, {emitter.rankOf(value) - 1});
}

}  // namespace tenon::onnxparser
