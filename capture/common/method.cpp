// Look-ups in the generated tables.
#include "common/method.h"

namespace tenon::capture {

std::string_view enumName(int index, int64_t value) {
  const EnumInfo& info = enums()[static_cast<size_t>(index)];
  for (size_t i = 0; i < info.values.size(); ++i) {
    if (info.values[i] == value) {
      return info.names[i];
    }
  }
  return {};
}

}  // namespace tenon::capture
