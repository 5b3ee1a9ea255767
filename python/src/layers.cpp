// SPDX-License-Identifier: Apache-2.0
// What layers and tensors have that is more than one call: weights as arrays, ranges, scales, values of two types.
#include <pybind11/stl.h>

#include "module.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;

// A property that is read as an array of numpy and set from one; the network keeps the array.
template <class T>
void weightsProperty(py::class_<T> type, const char* name, Weights (T::*get)() const, void (T::*set)(Weights)) {
  type.def_property(
      name, [get](T& self) { return arrayOf(viewOf((self.*get)(), self)); },
      [set](T& self, const HostWeights& value) {
        keepOwner(self, value.owner);
        (self.*set)(value.weights);
      });
}

void defineTensor(py::class_<ITensor> type) {
  type.def_property(
      "dynamic_range",
      [](const ITensor& self) -> py::object {
        warnDeprecated("ITensor.dynamic_range", "since 10.1, use explicit quantization");
        if (!self.dynamicRangeIsSet()) return py::none();
        return py::make_tuple(self.getDynamicRangeMin(), self.getDynamicRangeMax());
      },
      [](ITensor& self, const std::vector<float>& range) {
        warnDeprecated("ITensor.dynamic_range", "since 10.1, use explicit quantization");
        if (range.size() != 2)
          throw py::value_error("dynamic_range: " + std::to_string(range.size()) +
                                " numbers; expected the least and the greatest");
        if (!self.setDynamicRange(range[0], range[1]))
          throw py::value_error("dynamic_range is refused; the log says why");
      });
}

void defineAnyLayer(py::class_<ILayer> type) {
  type.def_property("num_ranks", &ILayer::getNbRanks, [](ILayer& self, int32_t ranks) {
    if (!self.setNbRanks(ranks))
      throw py::value_error("num_ranks of layer '" + std::string(self.getName()) + "' is refused; the log says why");
  });
}

void defineMatrixMultiply(py::class_<IMatrixMultiplyLayer> type) {
  const auto define = [&](const char* name, int32_t place) {
    type.def_property(
        name, [place](const IMatrixMultiplyLayer& self) { return self.getOperation(place); },
        [place](IMatrixMultiplyLayer& self, MatrixOperation operation) { self.setOperation(place, operation); });
  };
  define("op0", 0);
  define("op1", 1);
}

void defineResize(py::class_<IResizeLayer> type) {
  type.def_property(
      "scales",
      [](const IResizeLayer& self) {
        std::vector<float> scales(static_cast<size_t>(std::max(self.getScales(0, nullptr), 0)));
        self.getScales(static_cast<int32_t>(scales.size()), scales.data());
        return scales;
      },
      [](IResizeLayer& self, const std::vector<float>& scales) {
        self.setScales(scales.data(), static_cast<int32_t>(scales.size()));
      });
}

// A fill layer of integers takes and gives integers.
template <class Number>
py::object fillValue(const IFillLayer& self, double (IFillLayer::*real)() const,
                     Number (IFillLayer::*integer)() const) {
  return self.isAlphaBetaInt64() ? py::object(py::int_((self.*integer)())) : py::object(py::float_((self.*real)()));
}

void defineFill(py::class_<IFillLayer> type) {
  type.def_property(
      "alpha",
      [](const IFillLayer& self) { return fillValue(self, &IFillLayer::getAlpha, &IFillLayer::getAlphaInt64); },
      [](IFillLayer& self, const py::object& value) {
        if (PyLong_Check(value.ptr())) self.setAlphaInt64(value.cast<int64_t>());
        else self.setAlpha(value.cast<double>());
      });
  type.def_property(
      "beta", [](const IFillLayer& self) { return fillValue(self, &IFillLayer::getBeta, &IFillLayer::getBetaInt64); },
      [](IFillLayer& self, const py::object& value) {
        if (PyLong_Check(value.ptr())) self.setBetaInt64(value.cast<int64_t>());
        else self.setBeta(value.cast<double>());
      });
}

}  // namespace

void defineLayers(py::handle scope) {
  defineTensor(classOf<ITensor>(scope, "ITensor"));
  defineAnyLayer(classOf<ILayer>(scope, "ILayer"));
  const auto convolution = classOf<IConvolutionLayer>(scope, "IConvolutionLayer");
  weightsProperty(convolution, "kernel", &IConvolutionLayer::getKernelWeights, &IConvolutionLayer::setKernelWeights);
  weightsProperty(convolution, "bias", &IConvolutionLayer::getBiasWeights, &IConvolutionLayer::setBiasWeights);
  const auto deconvolution = classOf<IDeconvolutionLayer>(scope, "IDeconvolutionLayer");
  weightsProperty(deconvolution, "kernel", &IDeconvolutionLayer::getKernelWeights,
                  &IDeconvolutionLayer::setKernelWeights);
  weightsProperty(deconvolution, "bias", &IDeconvolutionLayer::getBiasWeights, &IDeconvolutionLayer::setBiasWeights);
  const auto scale = classOf<IScaleLayer>(scope, "IScaleLayer");
  weightsProperty(scale, "shift", &IScaleLayer::getShift, &IScaleLayer::setShift);
  weightsProperty(scale, "scale", &IScaleLayer::getScale, &IScaleLayer::setScale);
  weightsProperty(scale, "power", &IScaleLayer::getPower, &IScaleLayer::setPower);
  weightsProperty(classOf<IConstantLayer>(scope, "IConstantLayer"), "weights", &IConstantLayer::getWeights,
                  &IConstantLayer::setWeights);
  defineMatrixMultiply(classOf<IMatrixMultiplyLayer>(scope, "IMatrixMultiplyLayer"));
  defineResize(classOf<IResizeLayer>(scope, "IResizeLayer"));
  defineFill(classOf<IFillLayer>(scope, "IFillLayer"));
  classOf<IAttention>(scope, "IAttention")
      .def_property("num_ranks", &IAttention::getNbRanks, [](IAttention& self, int32_t ranks) {
        if (!self.setNbRanks(ranks)) throw py::value_error("num_ranks is refused; the log says why");
      });
  classOf<IAlgorithmContext>(scope, "IAlgorithmContext")
      .def(
          "get_shape",
          [](const IAlgorithmContext& self, int32_t index) {
            std::vector<Dims> shapes;
            for (const auto which : kSelectors) shapes.push_back(self.getDimensions(index, which));
            return shapes;
          },
          py::arg("index"));
}

// The class of a layer that comes without one, by its type. Activations and poolings stay layers: in their own classes
// `type` is the kind of activation or pooling, and programs ask a layer of a network for the type of layer that it is.
const std::type_info* layerClass(const ILayer* layer) {
  switch (layer->getType()) {
    case LayerType::kCONVOLUTION: return &typeid(IConvolutionLayer);
    case LayerType::kCAST: return &typeid(ICastLayer);
    case LayerType::kLRN: return &typeid(ILRNLayer);
    case LayerType::kSCALE: return &typeid(IScaleLayer);
    case LayerType::kSOFTMAX: return &typeid(ISoftMaxLayer);
    case LayerType::kDECONVOLUTION: return &typeid(IDeconvolutionLayer);
    case LayerType::kCONCATENATION: return &typeid(IConcatenationLayer);
    case LayerType::kELEMENTWISE: return &typeid(IElementWiseLayer);
    case LayerType::kUNARY: return &typeid(IUnaryLayer);
    case LayerType::kPADDING: return &typeid(IPaddingLayer);
    case LayerType::kSHUFFLE: return &typeid(IShuffleLayer);
    case LayerType::kREDUCE: return &typeid(IReduceLayer);
    case LayerType::kTOPK: return &typeid(ITopKLayer);
    case LayerType::kGATHER: return &typeid(IGatherLayer);
    case LayerType::kMATRIX_MULTIPLY: return &typeid(IMatrixMultiplyLayer);
    case LayerType::kRAGGED_SOFTMAX: return &typeid(IRaggedSoftMaxLayer);
    case LayerType::kCONSTANT: return &typeid(IConstantLayer);
    case LayerType::kIDENTITY: return &typeid(IIdentityLayer);
    case LayerType::kPLUGIN_V2: return &typeid(IPluginV2Layer);
    case LayerType::kPLUGIN_V3: return &typeid(IPluginV3Layer);
    case LayerType::kSLICE: return &typeid(ISliceLayer);
    case LayerType::kSHAPE: return &typeid(IShapeLayer);
    case LayerType::kPARAMETRIC_RELU: return &typeid(IParametricReLULayer);
    case LayerType::kRESIZE: return &typeid(IResizeLayer);
    case LayerType::kTRIP_LIMIT: return &typeid(ITripLimitLayer);
    case LayerType::kRECURRENCE: return &typeid(IRecurrenceLayer);
    case LayerType::kITERATOR: return &typeid(IIteratorLayer);
    case LayerType::kLOOP_OUTPUT: return &typeid(ILoopOutputLayer);
    case LayerType::kSELECT: return &typeid(ISelectLayer);
    case LayerType::kFILL: return &typeid(IFillLayer);
    case LayerType::kQUANTIZE: return &typeid(IQuantizeLayer);
    case LayerType::kDEQUANTIZE: return &typeid(IDequantizeLayer);
    case LayerType::kCONDITION: return &typeid(IConditionLayer);
    case LayerType::kCONDITIONAL_INPUT: return &typeid(IIfConditionalInputLayer);
    case LayerType::kCONDITIONAL_OUTPUT: return &typeid(IIfConditionalOutputLayer);
    case LayerType::kSCATTER: return &typeid(IScatterLayer);
    case LayerType::kEINSUM: return &typeid(IEinsumLayer);
    case LayerType::kASSERTION: return &typeid(IAssertionLayer);
    case LayerType::kONE_HOT: return &typeid(IOneHotLayer);
    case LayerType::kNON_ZERO: return &typeid(INonZeroLayer);
    case LayerType::kGRID_SAMPLE: return &typeid(IGridSampleLayer);
    case LayerType::kNMS: return &typeid(INMSLayer);
    case LayerType::kREVERSE_SEQUENCE: return &typeid(IReverseSequenceLayer);
    case LayerType::kNORMALIZATION: return &typeid(INormalizationLayer);
    case LayerType::kSQUEEZE: return &typeid(ISqueezeLayer);
    case LayerType::kUNSQUEEZE: return &typeid(IUnsqueezeLayer);
    case LayerType::kCUMULATIVE: return &typeid(ICumulativeLayer);
    case LayerType::kDYNAMIC_QUANTIZE: return &typeid(IDynamicQuantizeLayer);
    case LayerType::kATTENTION_INPUT: return &typeid(IAttentionInputLayer);
    case LayerType::kATTENTION_OUTPUT: return &typeid(IAttentionOutputLayer);
    case LayerType::kROTARY_EMBEDDING: return &typeid(IRotaryEmbeddingLayer);
    case LayerType::kKVCACHE_UPDATE: return &typeid(IKVCacheUpdateLayer);
    case LayerType::kMOE: return &typeid(IMoELayer);
    case LayerType::kDIST_COLLECTIVE: return &typeid(IDistCollectiveLayer);
    default: return &typeid(ILayer);
  }
}

}  // namespace tenon::python
