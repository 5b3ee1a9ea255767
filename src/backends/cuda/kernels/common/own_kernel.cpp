// Types of records.
#include "backends/cuda/kernels/common/own_kernel.h"

#include "core/fields.h"

namespace tenon::backends::cuda {

std::string Types::text() const {
  using Text = FieldText<std::vector<DataType>>;
  return Text::write(inputs) + " " + Text::write(outputs);
}

Types Types::read(const plan::KernelRecord& record) {
  TextReader in(record.params, "parameters of a kernel of backend cuda");
  using Text = FieldText<std::vector<DataType>>;
  Types types;
  types.inputs = Text::read(in);
  types.outputs = Text::read(in);
  for (const auto* list : {&types.inputs, &types.outputs}) {
    for (const auto type : *list) {
      if (cudaName(type) == nullptr) in.fail(fmt::format("no CUDA type corresponds to {}", name(type)));
    }
  }
  return types;
}

}  // namespace tenon::backends::cuda
