// Reads the window attributes that convolutions and pools share.
#include "spatial_attributes.h"

namespace tenon::parsers::onnx {
namespace {

Dimensions listOf(const OnnxNode& node, const char* name, size_t size, int64_t fallback) {
  Dimensions list = node.integers(name);
  if (list.empty()) {
    list.assign(size, fallback);
  }
  if (list.size() != size) {
    fail(FaultKind::kInvalidNode,
         fmt::format("attribute '{}' = {} has {} entries; expected {}", name, toString(list), list.size(), size));
  }
  for (const int64_t number : list) {
    if (number < fallback || number > INT32_MAX) {
      fail(FaultKind::kUnsupportedAttribute,
           fmt::format("attribute '{}' = {}: entry {} is too {}; expected {} to {}", name, toString(list), number,
                       number < fallback ? "small" : "large", fallback, INT32_MAX));
    }
  }
  return list;
}

}  // namespace

Spatial readSpatial(const OnnxNode& node, Dimensions kernel) {
  Spatial spatial;
  spatial.kernel = std::move(kernel);
  const size_t rank = spatial.kernel.size();
  const Dimensions declared = node.integers("kernel_shape");
  if (!declared.empty() && declared != spatial.kernel) {
    fail(FaultKind::kInvalidNode,
         fmt::format("kernel_shape = {} disagrees with the weights' {}", toString(declared), toString(spatial.kernel)));
  }
  spatial.strides = listOf(node, "strides", rank, 1);
  spatial.dilations = listOf(node, "dilations", rank, 1);
  const Dimensions pads = listOf(node, "pads", 2 * rank, 0);
  spatial.padsBegin.assign(pads.begin(), pads.begin() + static_cast<int64_t>(rank));
  spatial.padsEnd.assign(pads.begin() + static_cast<int64_t>(rank), pads.end());
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    spatial.mode = automatic == "SAME_UPPER" ? nvinfer1::PaddingMode::kSAME_UPPER : nvinfer1::PaddingMode::kSAME_LOWER;
  } else if (automatic != "NOTSET" && automatic != "VALID" && !automatic.empty()) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("auto_pad = '{}'; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", automatic));
  }
  if (automatic != "NOTSET" && !automatic.empty()) {
    spatial.padsBegin.assign(rank, 0);
    spatial.padsEnd.assign(rank, 0);
  }
  return spatial;
}

}  // namespace tenon::parsers::onnx
