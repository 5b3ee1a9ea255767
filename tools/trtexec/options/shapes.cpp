// The rules by which the shape flags become optimization profiles and inference shapes.
#include "shapes.h"

#include "values.h"

#include <fmt/format.h>

#include <set>
#include <stdexcept>

namespace tenon::trtexec {

namespace {

constexpr size_t kMin = 0;
constexpr size_t kOpt = 1;
constexpr size_t kMax = 2;

//! The bounds to copy a missing one from, by preference.
constexpr size_t kSources[3][2] = {{kOpt, kMax}, {kMax, kMin}, {kOpt, kMin}};

void checkOrder(const std::string& name, const ProfileShapes& profile) {
  const Shape& low = profile.bySelector[kMin].at(name);
  const Shape& middle = profile.bySelector[kOpt].at(name);
  const Shape& high = profile.bySelector[kMax].at(name);
  if (low.size() != middle.size() || middle.size() != high.size()) {
    throw std::invalid_argument(fmt::format("input '{}' has shapes of different rank: min {}, opt {}, max {}", name,
                                            shapeText(low), shapeText(middle), shapeText(high)));
  }
  for (size_t i = 0; i < low.size(); ++i) {
    if (low[i] > middle[i] || middle[i] > high[i]) {
      throw std::invalid_argument(
          fmt::format("input '{}' breaks min <= opt <= max in dimension {}: min {}, opt {}, max {}", name, i,
                      shapeText(low), shapeText(middle), shapeText(high)));
    }
  }
}

}  // namespace

bool matchesName(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return pattern == name;
  }
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.substr(0, head.size()) == head &&
         name.substr(name.size() - tail.size()) == tail;
}

const Shape* findShape(const ShapeMap& shapes, std::string_view name) {
  if (const auto exact = shapes.find(std::string(name)); exact != shapes.end()) {
    return &exact->second;
  }
  for (const auto& [pattern, shape] : shapes) {
    if (matchesName(pattern, name)) {
      return &shape;
    }
  }
  return nullptr;
}

void completeProfile(ProfileShapes& profile) {
  std::set<std::string> names;
  for (const ShapeMap& shapes : profile.bySelector) {
    for (const auto& [name, shape] : shapes) {
      names.insert(name);
    }
  }
  const std::array<ShapeMap, 3> given = profile.bySelector;
  for (const std::string& name : names) {
    for (size_t selector = 0; selector < 3; ++selector) {
      if (given[selector].count(name) != 0) {
        continue;
      }
      const size_t first = kSources[selector][0];
      const size_t source = given[first].count(name) != 0 ? first : kSources[selector][1];
      profile.bySelector[selector][name] = given[source].at(name);
    }
    checkOrder(name, profile);
  }
}

void completeShapes(Options& options) {
  auto& profiles = options.build.profiles;
  int32_t expected = 0;
  for (auto& [index, profile] : profiles) {
    if (index != expected++) {
      throw std::invalid_argument(
          fmt::format("--profile: index {} is given and {} is not; count from 0 without a gap", index, expected - 1));
    }
    completeProfile(profile);
  }
  ShapeMap& wanted = options.inference.shapes;
  if (!wanted.empty() && options.build.loadEngine.empty()) {
    if (profiles.empty()) {
      profiles[0];
    }
    for (auto& [index, profile] : profiles) {
      for (const auto& [name, shape] : wanted) {
        if (findShape(profile.bySelector[kOpt], name) == nullptr) {
          for (ShapeMap& shapes : profile.bySelector) {
            shapes[name] = shape;
          }
        }
      }
    }
  }
  const auto used = profiles.find(options.inference.profile);
  if (used != profiles.end()) {
    for (const auto& [name, shape] : used->second.bySelector[kOpt]) {
      if (findShape(wanted, name) == nullptr) {
        wanted[name] = shape;
      }
    }
  }
}

}  // namespace tenon::trtexec
