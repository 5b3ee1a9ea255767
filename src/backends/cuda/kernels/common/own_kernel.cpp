// Types of records, tables on the device.
#include "backends/cuda/kernels/common/own_kernel.h"

#include "backends/cuda/driver/cuda_device.h"
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

DeviceTable::~DeviceTable() { cudaDevice().free(data_); }

void DeviceTable::write(const void* data, size_t bytes) {
  auto& device = cudaDevice();
  device.free(data_);
  data_ = nullptr;
  data_ = device.allocate(bytes, 256);
  writeAtOnce(data_, data, bytes);
}

}  // namespace tenon::backends::cuda
