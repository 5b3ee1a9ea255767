// Types of records.
#include "backends/cuda/kernels/common/own_kernel.h"

#include "core/fields.h"

namespace tenon::backends::cuda {

std::string Types::text() const {
  using Text = FieldText<std::vector<DataType>>;
  return Text::write(inputs) + " " + Text::write(outputs);
}

Types Types::read(const plan::KernelRecord& record) { return parse(record.params); }

Types Types::parse(std::string_view text) {
  TextReader in(text, "parameters of a kernel of backend cuda");
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

ShapeAndTypes::ShapeAndTypes(const plan::KernelRecord& record) {
  const std::string_view text = record.params;
  const auto end = text.find(' ');
  if (end == std::string_view::npos)
    throw UserError("parameters of a kernel of backend cuda: '{}' has no types after the shape", text);
  shape = text.substr(0, end);
  types = Types::parse(text.substr(end + 1));
}

}  // namespace tenon::backends::cuda
