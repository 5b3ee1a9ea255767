// The text form of choices.
#include "backends/cuda/cudnn/cudnn_program.h"

#include "core/text.h"

namespace tenon::backends::cuda::dnn {

std::string Choice::text() const {
  return fmt::format("{},{},{}", fusion == Fusion::kWhole ? "whole" : "bare", math == Math::kAny ? "any" : "exact",
                     engine.text());
}

Choice Choice::parse(std::string_view text) {
  Choice choice;
  TextReader in(text, "parameters of a cuDNN kernel");
  const auto either = [&](std::string_view first, std::string_view second) {
    const auto word = in.identifier();
    if (word != first && word != second) in.fail(fmt::format("'{}' is neither {} nor {}", word, first, second));
    in.expect(",");
    return word == first;
  };
  choice.fusion = either("whole", "bare") ? Fusion::kWhole : Fusion::kBare;
  choice.math = either("any", "exact") ? Math::kAny : Math::kNoTensorCores;
  choice.engine = EngineChoice::parse(text.substr(in.position()));
  return choice;
}

}  // namespace tenon::backends::cuda::dnn
