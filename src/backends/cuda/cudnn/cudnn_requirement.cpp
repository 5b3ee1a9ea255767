// Numbers of engines hold within one major release.
#include "backends/cuda/cudnn/cudnn_requirement.h"

#include <fmt/format.h>

#include "backends/cuda/cudnn/cudnn_api.h"

namespace tenon::backends::cuda {

std::string cudnnRequirement() {
  constexpr int kMajor = 10000;  // 91400 is 9.14
  const auto& library = dnn::library();
  return library.missing.empty() ? fmt::format("cudnn:{}", library.version / kMajor) : "cudnn:none";
}

}  // namespace tenon::backends::cuda
