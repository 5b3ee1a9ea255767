// Numbers are expressions over the extents of the inputs.
#include "api/plugin/adapters/launch_params.h"

#include "core/error.h"

namespace tenon::api {
namespace {

constexpr std::array kPlaces{"grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_mem"};
constexpr size_t kShared = 6;

// Messages come from calls that may not throw.
template <typename... Values>
bool refuse(std::string& failure, fmt::format_string<Values...> text, Values&&... values) noexcept {
  try {
    if (failure.empty()) failure = fmt::format(text, std::forward<Values>(values)...);
  } catch (const std::exception&) {
    // Without memory for the message the answer alone says that it failed.
    return false;
  }
  return false;
}

}  // namespace

bool LaunchNumber::set(nv::ISymExpr* given, const Expressions& expressions, std::string& failure) noexcept {
  if (given == nullptr) return refuse(failure, "it is null");
  if (given->getType() != nv::PluginArgType::kINT)
    return refuse(failure, "it has the type {}; expected 0 (an integer)", static_cast<int32_t>(given->getType()));
  const auto type = given->getDataType();
  if (static_cast<uint32_t>(type) > static_cast<uint32_t>(nv::PluginArgDataType::kINT32))
    return refuse(failure, "it has the data type {}; expected 0 to 2", static_cast<int32_t>(type));
  const void* value = given->getExpr();
  if (expressions.extentOf(value) == nullptr) return refuse(failure, "it is no expression that this call gave or made");
  value_ = static_cast<const nv::IDimensionExpr*>(value);
  type_ = type;
  return true;
}

LaunchParams::LaunchParams(Expressions& expressions) : expressions_(expressions) {
  mImpl = this;
  for (size_t place = 0; place < kPlaces.size(); ++place)
    numbers_.emplace_back(expressions.constant(place == kShared ? 0 : 1));
}

bool LaunchParams::set(size_t place, nv::ISymExpr* value) noexcept {
  std::string why;
  return numbers_[place].set(value, expressions_, why) || refuse(failure_, "{}: {}", kPlaces[place], why);
}

Extent LaunchParams::extent(size_t place) const {
  return *expressions_.extentOf(const_cast<LaunchNumber&>(numbers_[place]).getExpr());
}

void LaunchParams::write(ops::CompiledLaunch& launch) const {
  checkUser(failure_.empty(), "getLaunchParams(): {}", failure_);
  for (size_t axis = 0; axis < 3; ++axis) {
    launch.grid.push_back(extent(axis));
    launch.block.push_back(extent(3 + axis));
  }
  launch.sharedBytes = extent(kShared);
}

LaunchArgumentList::LaunchArgumentList(Expressions& expressions)
    : expressions_(expressions), zero_(expressions.constant(0)) {
  mImpl = this;
}

nv::ISymExpr* LaunchArgumentList::getSymExpr(int32_t index) const noexcept {
  return index >= 0 && index < getNbSymExprs() ? numbers_[static_cast<size_t>(index)].get() : nullptr;
}

bool LaunchArgumentList::setSymExpr(int32_t index, nv::ISymExpr* value) noexcept {
  if (index < 0 || index >= getNbSymExprs()) return refuse(failure_, "argument {} of {}", index, getNbSymExprs());
  std::string why;
  return numbers_[static_cast<size_t>(index)]->set(value, expressions_, why) ||
         refuse(failure_, "argument {}: {}", index, why);
}

bool LaunchArgumentList::setNbSymExprs(int32_t count) noexcept {
  constexpr int32_t kMost = 512;  // a kernel has 4 KiB for its arguments
  if (count < 0 || count > kMost) return refuse(failure_, "{} arguments; expected 0 to {}", count, kMost);
  try {
    numbers_.resize(std::min(numbers_.size(), static_cast<size_t>(count)));
    while (getNbSymExprs() < count) numbers_.push_back(std::make_unique<LaunchNumber>(zero_));
  } catch (const std::exception& error) {
    return refuse(failure_, "{} arguments: {}", count, error.what());
  }
  return true;
}

void LaunchArgumentList::write(ops::CompiledLaunch& launch) const {
  checkUser(failure_.empty(), "getLaunchParams(): {}", failure_);
  for (const auto& number : numbers_) {
    launch.arguments.push_back(*expressions_.extentOf(number->getExpr()));
    launch.argumentBytes.push_back(int64_t{1} << static_cast<int32_t>(number->getDataType()));
  }
}

}  // namespace tenon::api
