// Formats of inputs and outputs: every one of them on tensors of several ranks, beside the formulas of the interface.
#include <cmath>
#include <numeric>

#include "core/dims.h"
#include "fixture.h"

namespace {

using nv::TensorFormat;

int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// A format as the interface describes it: [N...][C/v][spatial...][v], or [N...][spatial...][C], padded.
struct Form {
  TensorFormat format;
  const char* name;
  int fromEnd;        // axis of the channels
  int64_t vector;     // elements side by side
  bool channelsLast;  // all vectors of a pixel side by side
  int64_t rowBytes = 1;
};
constexpr Form kForms[] = {
    {TensorFormat::kLINEAR, "kLINEAR", 0, 1, false},
    {TensorFormat::kCHW2, "kCHW2", 3, 2, false},
    {TensorFormat::kHWC8, "kHWC8", 3, 8, true},
    {TensorFormat::kCHW4, "kCHW4", 3, 4, false},
    {TensorFormat::kCHW16, "kCHW16", 3, 16, false},
    {TensorFormat::kCHW32, "kCHW32", 3, 32, false},
    {TensorFormat::kDHWC8, "kDHWC8", 4, 8, true},
    {TensorFormat::kCDHW32, "kCDHW32", 4, 32, false},
    {TensorFormat::kHWC, "kHWC", 3, 1, true},
    {TensorFormat::kDLA_LINEAR, "kDLA_LINEAR", 0, 1, false, 64},
    {TensorFormat::kDLA_HWC4, "kDLA_HWC4", 3, 4, true, 32},
    {TensorFormat::kHWC16, "kHWC16", 3, 16, true},
    {TensorFormat::kDHWC, "kDHWC", 4, 1, true},
};

// Places of elements in memory, by the formulas.
class Places {
 public:
  Places(const Form& form, std::vector<int64_t> dims, int64_t bytes) : form_(form), dims_(std::move(dims)) {
    const size_t rank = dims_.size();
    channels_ = form.fromEnd == 0 ? rank : rank - static_cast<size_t>(form.fromEnd);
    vector_ = form.format == TensorFormat::kDLA_HWC4 && dims_[channels_] == 1 ? 1 : form.vector;
    rowElements_ = std::max<int64_t>(1, form.rowBytes / bytes);
  }
  int64_t vector() const { return vector_; }
  int64_t count() const {
    int64_t result = form_.channelsLast ? 1 : vector_;
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      if (axis != channels_ || !form_.channelsLast) result *= stored(axis);
    }
    return result;
  }
  int64_t at(const std::vector<int64_t>& index) const {
    int64_t place = 0;
    for (size_t axis = 0; axis < dims_.size(); ++axis) {
      if (axis == channels_ && form_.channelsLast) continue;
      const int64_t step = isRow(axis) ? inner() : 1;
      place = place * stored(axis) + (axis == channels_ ? index[axis] / vector_ : index[axis]) * step;
    }
    if (channels_ == dims_.size()) return place;
    return form_.channelsLast ? place + index[channels_] : place * vector_ + index[channels_] % vector_;
  }

 private:
  bool isRow(size_t axis) const {
    const size_t last = dims_.size() - 1;
    return axis == (form_.channelsLast && channels_ == last ? last - 1 : last);
  }
  // Elements of the channels within a row.
  int64_t inner() const { return form_.channelsLast ? roundUp(dims_[channels_], vector_) : 1; }
  int64_t stored(size_t axis) const {
    if (isRow(axis)) return roundUp(dims_[axis] * inner(), rowElements_);
    return axis == channels_ ? roundUp(dims_[axis], vector_) / vector_ : dims_[axis];
  }
  const Form& form_;
  std::vector<int64_t> dims_;
  size_t channels_;
  int64_t vector_, rowElements_;
};

class Formats : public ObjectTest {
 protected:
  // y = x + x in INT32 or FP32, with the formats of input and output.
  std::unique_ptr<nv::ICudaEngine> doubled(const std::vector<int64_t>& shape, TensorFormat in, TensorFormat out,
                                           nv::DataType type) {
    auto* x = network->addInput("x", type, dims(shape));
    x->setAllowedFormats(1U << static_cast<int>(in));
    auto* sum = network->addElementWise(*x, *x, nv::ElementWiseOperation::kSUM)->getOutput(0);
    output(sum, "y");
    sum->setAllowedFormats(1U << static_cast<int>(out));
    return engine();
  }
  // Nothing is built, and the reason is said.
  void expectRefused(const std::vector<std::string>& parts) {
    EXPECT_EQ(engine(), nullptr);
    ASSERT_FALSE(log.errors.empty());
    for (const auto& part : parts) EXPECT_NE(log.errors[0].find(part), std::string::npos) << log.errors[0];
    log.errors.clear();
  }
};

std::vector<std::vector<int64_t>> shapesFor(const Form& form) {
  std::vector<std::vector<int64_t>> shapes{{2, 3, 5, 7}, {1, 32, 2, 3}, {1, 1, 4, 1}, {2, 4, 3, 2, 3}, {3, 4, 6}};
  if (form.format == TensorFormat::kDLA_HWC4) return {{2, 3, 5, 7}, {1, 1, 4, 9}, {2, 4, 1, 3}, {3, 4, 6}};
  if (form.fromEnd == 0) shapes.push_back({13});
  std::erase_if(shapes, [&](const auto& shape) { return static_cast<int>(shape.size()) < form.fromEnd; });
  return shapes;
}

template <typename Body>
void eachIndex(const std::vector<int64_t>& shape, const Body& body) {
  const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    body(i, index);
    for (size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
  }
}

TEST_F(Formats, EveryFormatIsReadAndWrittenAsTheInterfaceSays) {
  for (const auto& form : kForms) {
    for (const auto& shape : shapesFor(form)) {
      for (const bool isInput : {true, false}) {
        ObjectTest::SetUp();  // a network of its own
        const auto linear = TensorFormat::kLINEAR;
        const auto built =
            doubled(shape, isInput ? form.format : linear, isInput ? linear : form.format, nv::DataType::kINT32);
        SCOPED_TRACE(testing::Message() << form.name << " rank " << shape.size() << (isInput ? " input" : " output"));
        ASSERT_NE(built, nullptr);
        const char* const name = isInput ? "x" : "y";
        const Places places(form, shape, sizeof(int32_t));
        const bool isVector = places.vector() > 1;
        const int axis = static_cast<int>(shape.size()) - form.fromEnd;
        EXPECT_EQ(built->getTensorFormat(name), form.format);
        EXPECT_EQ(built->getTensorVectorizedDim(name), isVector ? axis : -1);
        EXPECT_EQ(built->getTensorComponentsPerElement(name), isVector ? form.vector : -1);
        EXPECT_EQ(built->getTensorBytesPerComponent(name), isVector ? 4 : -1);
        EXPECT_NE(std::string(built->getTensorFormatDesc(name)).find(form.name), std::string::npos);

        const std::unique_ptr<nv::IExecutionContext> context(built->createExecutionContext());
        ASSERT_NE(context, nullptr);
        // An element lies where strides say: counted in vectors along all axes.
        const auto strides = context->getTensorStrides(name);
        const int64_t lanes = isVector ? form.vector : 1;
        eachIndex(shape, [&](int64_t, const std::vector<int64_t>& index) {
          int64_t place = 0;
          for (size_t a = 0; a < shape.size(); ++a)
            place += strides.d[a] * (static_cast<int>(a) == axis ? index[a] / lanes : index[a]);
          if (isVector) place = place * lanes + index[static_cast<size_t>(axis)] % lanes;
          ASSERT_EQ(place, places.at(index));
        });
        if (!isInput) {
          EXPECT_EQ(context->getMaxOutputSize("y"), places.count() * 4);
        }

        const Places plain(kForms[0], shape, sizeof(int32_t));
        const Places& from = isInput ? places : plain;
        const Places& to = isInput ? plain : places;
        std::vector<int32_t> x(static_cast<size_t>(from.count()), -77), y(static_cast<size_t>(to.count()), -77);
        eachIndex(shape, [&](int64_t i, const auto& index) {
          x[static_cast<size_t>(from.at(index))] = static_cast<int32_t>(i * 2654435761U % 100003);
        });
        void* bindings[] = {x.data(), y.data()};
        ASSERT_TRUE(context->executeV2(bindings));
        std::vector<bool> seen(y.size(), false);
        eachIndex(shape, [&](int64_t, const auto& index) {
          const auto at = static_cast<size_t>(to.at(index));
          seen[at] = true;
          ASSERT_EQ(y[at], 2 * x[static_cast<size_t>(from.at(index))]);
        });
        for (size_t i = 0; i < y.size(); ++i) {
          ASSERT_TRUE(seen[i] || y[i] == 0) << "padding at " << i << " is " << y[i];
        }
      }
    }
  }
}

TEST_F(Formats, OfSeveralFormatsRowMajorIsTaken) {
  auto* x = &input("x", {1, 3, 4, 4});
  x->setAllowedFormats(1U << static_cast<int>(TensorFormat::kHWC8) | 1U << static_cast<int>(TensorFormat::kLINEAR));
  output(network->addActivation(*x, nv::ActivationType::kRELU)->getOutput(0), "y");
  const auto built = engine();
  ASSERT_NE(built, nullptr);
  EXPECT_EQ(built->getTensorFormat("x"), TensorFormat::kLINEAR);
}

TEST_F(Formats, ATensorWithoutTheAxisIsRefusedByName) {
  auto* x = &input("x", {3, 4});
  x->setAllowedFormats(1U << static_cast<int>(TensorFormat::kHWC8));
  output(network->addActivation(*x, nv::ActivationType::kRELU)->getOutput(0), "y");
  expectRefused(
      {"tensor 'x': it can have none of the allowed formats", "kHWC8 wants at least 3 dimensions; the tensor has 2"});
}

TEST_F(Formats, PixelsOfDlaHaveOneThreeOrFourChannels) {
  auto* x = &input("x", {1, 5, 2, 2});
  x->setAllowedFormats(1U << static_cast<int>(TensorFormat::kDLA_HWC4));
  output(network->addActivation(*x, nv::ActivationType::kRELU)->getOutput(0), "y");
  expectRefused({"kDLA_HWC4 wants 1, 3 or 4 channels; the tensor has 5"});
}

TEST_F(Formats, DirectIoListsTheTensorsThatWouldBeReformatted) {
  auto* x = &input("x", {1, 3, 4, 4});
  x->setAllowedFormats(1U << static_cast<int>(TensorFormat::kCHW32));
  output(network->addActivation(*x, nv::ActivationType::kRELU)->getOutput(0), "y");
  config->setFlag(nv::BuilderFlag::kDIRECT_IO);
  expectRefused({"kDIRECT_IO", "input 'x' (axis1_blocked32"});
}

TEST_F(Formats, DirectIoIsHonouredWhereNothingIsReformatted) {
  auto* x = &input("x", {1, 8, 4, 4});
  x->setAllowedFormats(1U << static_cast<int>(TensorFormat::kHWC8));  // whole vectors: channels-last
  auto* y = network->addActivation(*x, nv::ActivationType::kRELU)->getOutput(0);
  output(y, "y");
  y->setAllowedFormats(1U << static_cast<int>(TensorFormat::kHWC));
  config->setFlag(nv::BuilderFlag::kDIRECT_IO);
  EXPECT_NE(engine(), nullptr);
}

// Channels that divide into vectors at some shapes of the profile and not at others.
TEST_F(Formats, VectorsOfOpenChannels) {
  for (const auto format : {TensorFormat::kCHW4, TensorFormat::kCHW16}) {
    SetUp();
    auto* x = network->addInput("x", nv::DataType::kINT32, dims({1, -1, 2, 3}));
    x->setAllowedFormats(1U << static_cast<int>(format));
    output(network->addElementWise(*x, *x, nv::ElementWiseOperation::kSUM)->getOutput(0), "y");
    auto* profile = builder->createOptimizationProfile();
    profile->setDimensions("x", nv::OptProfileSelector::kMIN, dims({1, 1, 2, 3}));
    profile->setDimensions("x", nv::OptProfileSelector::kOPT, dims({1, 16, 2, 3}));
    profile->setDimensions("x", nv::OptProfileSelector::kMAX, dims({1, 33, 2, 3}));
    config->addOptimizationProfile(profile);
    const auto built = engine();
    ASSERT_NE(built, nullptr);
    const std::unique_ptr<nv::IExecutionContext> context(built->createExecutionContext());
    const auto& form =
        *std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& f) { return f.format == format; });
    for (const int64_t channels : {1, 7, 16, 33}) {
      const std::vector<int64_t> shape{1, channels, 2, 3};
      ASSERT_TRUE(context->setInputShape("x", dims(shape)));
      const Places from(form, shape, sizeof(int32_t)), to(kForms[0], shape, sizeof(int32_t));
      std::vector<int32_t> in(static_cast<size_t>(from.count()), -77), out(static_cast<size_t>(to.count()), -77);
      eachIndex(shape, [&](int64_t i, const auto& index) {
        in[static_cast<size_t>(from.at(index))] = static_cast<int32_t>(i + 1);
      });
      void* bindings[] = {in.data(), out.data()};
      ASSERT_TRUE(context->executeV2(bindings));
      eachIndex(shape,
                [&](int64_t i, const auto& index) { ASSERT_EQ(out[static_cast<size_t>(to.at(index))], 2 * (i + 1)); });
    }
  }
}

}  // namespace
