// Constants and native code of a plan, equal ones once.
#include <algorithm>
#include <cstring>

#include "compile/schedule/steps.h"
#include "core/fields.h"
#include "plan/checksum.h"

namespace tenon::compile {

int32_t ConstantPool::add(const graph::ConstantPtr& constant) {
  const auto view = constant->view();
  const std::string_view bytes(static_cast<const char*>(view.data), view.bytes());
  const uint64_t hash =
      plan::checksum(bytes.data(), bytes.size()) ^ hashBytes(fmt::format("{} {}", name(view.dtype), view.dims.text()));
  const auto [first, last] = byHash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const auto& known = plan_.constants[static_cast<size_t>(it->second)];
    if (known.dtype == view.dtype && known.dims == view.dims && known.bytes == bytes.size() &&
        std::memcmp(known.data.get(), bytes.data(), bytes.size()) == 0) {
      return it->second;
    }
  }
  plan::ConstantRecord record;
  record.dtype = view.dtype;
  record.dims = view.dims;
  record.hash = hash;
  record.weights = constant->weights();
  record.data = constant->share();  // without an owner where the bytes are the caller's
  record.bytes = bytes.size();
  const auto index = static_cast<int32_t>(plan_.constants.size());
  plan_.constants.push_back(std::move(record));
  byHash_.emplace(hash, index);
  return index;
}

int32_t NativeCodePool::add(const std::vector<std::byte>& code) {
  const auto found = std::find(plan_.nativeCode.begin(), plan_.nativeCode.end(), code);
  if (found != plan_.nativeCode.end()) return static_cast<int32_t>(found - plan_.nativeCode.begin());
  plan_.nativeCode.push_back(code);
  return static_cast<int32_t>(plan_.nativeCode.size() - 1);
}

}  // namespace tenon::compile
