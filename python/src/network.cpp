// SPDX-License-Identifier: Apache-2.0
// Functions of a network that take lists or weights, and the network as a sequence of layers.
#include <pybind11/stl.h>

#include "module.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;
using Tensors = std::vector<ITensor*>;

// None stands for no weights.
Weights lent(INetworkDefinition& network, const HostWeights* weights) {
  if (!weights) return {DataType::kFLOAT, nullptr, 0};
  keepOwner(network, weights->owner);
  return weights->weights;
}

int32_t countOf(const Tensors& tensors) {
  for (const ITensor* tensor : tensors) {
    if (!tensor) throw py::type_error("inputs: None among the tensors");
  }
  return static_cast<int32_t>(tensors.size());
}

ILayer* layerAt(const INetworkDefinition& network, int64_t index) {
  const int64_t count = network.getNbLayers();
  if (index < 0) index += count;
  if (index < 0 || index >= count)
    throw py::index_error("layer " + std::to_string(index) + " of " + std::to_string(count));
  return network.getLayer(static_cast<int32_t>(index));
}

IDistCollectiveLayer* addDistCollective(INetworkDefinition& self, ITensor& input, CollectiveOperation operation,
                                        const std::optional<ReduceOperation>& reduce,
                                        const std::optional<int64_t>& root,
                                        const std::optional<std::vector<int64_t>>& groups) {
  std::vector<int64_t> ranks = groups.value_or(std::vector<int64_t>{});
  return self.addDistCollective(input, operation, reduce.value_or(ReduceOperation::kNONE), root.value_or(-1),
                                ranks.empty() ? nullptr : ranks.data(), static_cast<int64_t>(ranks.size()));
}

}  // namespace

void defineNetwork(py::handle scope) {
  constexpr auto kInternal = py::return_value_policy::reference_internal;
  using Network = INetworkDefinition;
  auto type = classOf<Network>(scope, "INetworkDefinition");
  type.def(
          "add_convolution_nd",
          [](Network& self, ITensor& input, int64_t maps, const Dims& size, const HostWeights& kernel,
             const HostWeights* bias) {
            return self.addConvolutionNd(input, maps, size, lent(self, &kernel), lent(self, bias));
          },
          py::arg("input"), py::arg("num_output_maps"), py::arg("kernel_shape"), py::arg("kernel"),
          py::arg("bias") = py::none(), kInternal)
      .def(
          "add_deconvolution_nd",
          [](Network& self, ITensor& input, int64_t maps, const Dims& size, const HostWeights& kernel,
             const HostWeights* bias) {
            return self.addDeconvolutionNd(input, maps, size, lent(self, &kernel), lent(self, bias));
          },
          py::arg("input"), py::arg("num_output_maps"), py::arg("kernel_shape"), py::arg("kernel"),
          py::arg("bias") = py::none(), kInternal)
      .def(
          "add_scale",
          [](Network& self, ITensor& input, ScaleMode mode, const HostWeights* shift, const HostWeights* scale,
             const HostWeights* power) {
            return self.addScale(input, mode, lent(self, shift), lent(self, scale), lent(self, power));
          },
          py::arg("input"), py::arg("mode"), py::arg("shift") = py::none(), py::arg("scale") = py::none(),
          py::arg("power") = py::none(), kInternal)
      .def(
          "add_scale_nd",
          [](Network& self, ITensor& input, ScaleMode mode, const HostWeights* shift, const HostWeights* scale,
             const HostWeights* power, int32_t axis) {
            return self.addScaleNd(input, mode, lent(self, shift), lent(self, scale), lent(self, power), axis);
          },
          py::arg("input"), py::arg("mode"), py::arg("shift") = py::none(), py::arg("scale") = py::none(),
          py::arg("power") = py::none(), py::arg("channel_axis"), kInternal)
      .def(
          "add_concatenation",
          [](Network& self, const Tensors& inputs) { return self.addConcatenation(inputs.data(), countOf(inputs)); },
          py::arg("inputs"), kInternal)
      .def(
          "add_einsum",
          [](Network& self, const Tensors& inputs, const char* equation) {
            return self.addEinsum(inputs.data(), countOf(inputs), equation);
          },
          py::arg("inputs"), py::arg("equation"), kInternal)
      .def("add_dist_collective", &addDistCollective, py::arg("input"), py::arg("dist_collective_op"),
           py::arg("reduce_op"), py::arg("root"), py::arg("groups"), kInternal)
      .def("__len__", &Network::getNbLayers)
      .def("__getitem__", &layerAt, kInternal)
      .def("__del__", [](const Network&) {});
}

}  // namespace tenon::python
