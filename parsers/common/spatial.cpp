// One more spatial dimension for layers that have none of one dimension.
#include "spatial.h"

namespace tenon::parsers {

void Spatial::appendUnitAxis() {
  kernel.push_back(1);
  strides.push_back(1);
  dilations.push_back(1);
  padsBegin.push_back(0);
  padsEnd.push_back(0);
}

ParsedValue withUnitAxis(NetworkWriter& writer, const ParsedValue& value) {
  return writer.unsqueeze(value, {writer.rankOf(value)});
}

ParsedValue withoutUnitAxis(NetworkWriter& writer, const ParsedValue& value) {
  return writer.squeeze(value, {writer.rankOf(value) - 1});
}

}  // namespace tenon::parsers
