// Combinations are found position by position, as a plugin may look at the ones before it only.
#include "api/plugin/adapters/format_search.h"

#include <set>

#include "api/common/convert.h"
#include "api/common/tensor_formats.h"

namespace tenon::api {
namespace {

struct Format {
  nv::TensorFormat format;
  Layout layout;
};

// The formats that a tensor can be given to a plugin in, kLINEAR first.
std::vector<Format> formatsOf(DataType type, const Shape& shape, bool linearOnly) {
  using enum nv::TensorFormat;
  std::vector<Format> result;
  const bool hasDepth = shape.size() >= 5;
  const auto wanted = linearOnly ? std::vector{kLINEAR}
                      : hasDepth ? std::vector{kLINEAR, kDHWC8, kCDHW32, kDHWC}
                                 : std::vector{kLINEAR, kCHW2, kHWC8, kCHW4, kCHW16, kCHW32, kHWC, kHWC16};
  for (const auto format : wanted) {
    try {
      result.push_back({format, layoutOf(format, type, shape)});
    } catch (const Unsupported&) {
      // Not with this type or rank.
    }
  }
  return result;
}

// Finds the combinations that the plugin takes.
class Search {
 public:
  Search(PluginAdapter& plugin, PluginDescs operands, const std::vector<Shape>& shapes, int inputs, size_t limit,
         const std::vector<bool>& linearOnly)
      : plugin_(plugin), operands_(std::move(operands)), inputs_(inputs), limit_(limit) {
    for (size_t i = 0; i < operands_.size(); ++i)
      formats_.push_back(formatsOf(fromApi(operands_[i].desc.type), shapes[i], !linearOnly.empty() && linearOnly[i]));
  }

  Combinations run() {
    descend(0);
    for (const auto& line : lines_) result_.refused += "\n  " + line;
    return std::move(result_);
  }

 private:
  void descend(size_t position) {
    constexpr size_t kMostQuestions = 20000;
    if (position == operands_.size()) {
      result_.found.push_back(chosen_);
      return;
    }
    for (const auto& [format, layout] : formats_[position]) {
      if (result_.found.size() >= limit_ || ++questions_ > kMostQuestions) return;
      operands_[position].desc.format = format;
      chosen_.push_back(layout);
      if (isLikeItsInput(position) && plugin_.supports(static_cast<int>(position), operands_, inputs_)) {
        descend(position + 1);
      } else {
        refuse(position);
      }
      chosen_.pop_back();
    }
  }

  // An output that shares an input's memory lies there as the input does.
  bool isLikeItsInput(size_t position) {
    if (position < static_cast<size_t>(inputs_)) return true;
    const int input = plugin_.aliasedInput(static_cast<int>(position) - inputs_);
    return input < 0 || input >= inputs_ || chosen_[static_cast<size_t>(input)] == chosen_[position];
  }

  void refuse(size_t position) {
    constexpr size_t kMostLines = 32;
    if (lines_.size() >= kMostLines) return;
    std::string line;
    for (size_t i = 0; i <= position; ++i) {
      const auto& desc = operands_[i].desc;
      const bool isInput = i < static_cast<size_t>(inputs_);
      line += fmt::format("{}{} {} {} {}", line.empty() ? "" : ", ", isInput ? "input" : "output",
                          isInput ? i : i - static_cast<size_t>(inputs_), name(fromApi(desc.type)),
                          factsOf(chosen_[i], desc.dims.nbDims).name);
    }
    lines_.insert(line);
  }

  PluginAdapter& plugin_;
  PluginDescs operands_;
  const int inputs_;
  const size_t limit_;
  std::vector<std::vector<Format>> formats_;
  size_t questions_ = 0;
  std::vector<Layout> chosen_;  // of the positions that are decided
  Combinations result_;
  std::set<std::string> lines_;
};

}  // namespace

Combinations findCombinations(PluginAdapter& plugin, PluginDescs operands, const std::vector<Shape>& shapes, int inputs,
                              size_t limit, const std::vector<bool>& linearOnly) {
  return Search(plugin, std::move(operands), shapes, inputs, limit, linearOnly).run();
}

}  // namespace tenon::api
