// Attention in the forms that exporters write, against its formula in double.
#include "attention_reference.h"

namespace tenon::parsers::onnx {
namespace {

ModelMaker makeModel(const Form& f) {
  ModelMaker maker(24);
  maker.input("q", {f.batch, f.heads, f.rows, f.width});
  maker.input("k", {f.batch, f.keyHeads, f.keys, f.width});
  maker.input("v", {f.batch, f.keyHeads, f.keys, f.valueWidth});
  maker.output("y");
  return maker;
}

void setFields(pb::NodeProto& node, const Form& f) {
  if (f.scale != 0) ModelMaker::set(node, "scale", static_cast<float>(f.scale));
  if (f.softcap != 0) ModelMaker::set(node, "softcap", static_cast<float>(f.softcap));
  if (f.causal) ModelMaker::set(node, "is_causal", int64_t{1});
}

TEST(Attention, PlainGroupedCausalAndCapped) {
  for (const Form& f : {Form{1, 2, 2, 3, 5, 8, 8}, Form{2, 4, 2, 3, 7, 6, 4}, Form{1, 3, 1, 4, 4, 5, 5, 0.3, 0, true},
                        Form{2, 2, 2, 3, 5, 4, 6, 0, 1.5, true}, Form{1, 1, 1, 1, 1, 1, 1}}) {
    ModelMaker maker = makeModel(f);
    setFields(maker.node("Attention", {"q", "k", "v"}, {"y"}), f);
    const Operands o(f);
    const auto outputs = runModel(maker, {o.q, o.k, o.v});
    ASSERT_EQ(outputs.size(), 1u);
    expectNear(outputs[0], attention(f, o.q, o.k, o.v, {}));
  }
}

TEST(Attention, MasksThatAreAddedAndRowsThatSeeNothing) {
  const Form f{2, 2, 2, 3, 4, 8, 8};
  const float infinity = std::numeric_limits<float>::infinity();
  const Reals bias{0.5f, -1, 0, 2, -infinity, 0, -infinity, 1, -infinity, -infinity, -infinity, -infinity};
  ModelMaker maker = makeModel(f);
  maker.floats("mask", {3, 4}, bias);
  maker.node("Attention", {"q", "k", "v", "mask"}, {"y"});
  const Operands o(f);
  const auto outputs = runModel(maker, {o.q, o.k, o.v});
  ASSERT_EQ(outputs.size(), 1u);
  expectNear(outputs[0], attention(f, o.q, o.k, o.v, bias));
}

// Past keys are in front of the new ones; a row sees all of them.
TEST(Attention, PastKeysComeFirst) {
  const Form f{1, 2, 2, 2, 5, 4, 4, 0, 0, true, 3};
  const Operands o(f);
  ModelMaker maker(24);
  maker.input("q", {1, 2, 2, 4});
  const auto part = [&](const Reals& all, int64_t from, int64_t count) {
    Reals result;
    for (int64_t h = 0; h < 2; ++h) {
      const auto begin = all.begin() + (h * 5 + from) * 4;
      result.insert(result.end(), begin, begin + count * 4);
    }
    return result;
  };
  maker.floats("k", {1, 2, 2, 4}, part(o.k, 3, 2));
  maker.floats("v", {1, 2, 2, 4}, part(o.v, 3, 2));
  maker.floats("pk", {1, 2, 3, 4}, part(o.k, 0, 3));
  maker.floats("pv", {1, 2, 3, 4}, part(o.v, 0, 3));
  setFields(maker.node("Attention", {"q", "k", "v", "", "pk", "pv"}, {"y", "nk"}), f);
  maker.output("y");
  const auto outputs = runModel(maker, {o.q});
  ASSERT_EQ(outputs.size(), 1u);
  expectNear(outputs[0], attention(f, o.q, o.k, o.v, {}));
}

// Of com.microsoft: q, k and v come from one product, heads stand in the columns.
TEST(Attention, OfAnotherDomainFromOneProduct) {
  const int64_t rows = 3, hidden = 8, heads = 2, width = 4;
  const Reals x = randomReals(24, 1), w = randomReals(192, 2), b = randomReals(24, 3);
  ModelMaker maker(17);
  maker.proto().add_opset_import()->set_domain("com.microsoft");
  maker.proto().mutable_opset_import(1)->set_version(1);
  maker.input("x", {1, rows, hidden});
  maker.floats("w", {hidden, 3 * hidden}, w);
  maker.floats("b", {3 * hidden}, b);
  auto& node = maker.node("Attention", {"x", "w", "b"}, {"y"});
  node.set_domain("com.microsoft");
  ModelMaker::set(node, "num_heads", heads);
  ModelMaker::set(node, "unidirectional", int64_t{1});
  maker.output("y");
  const auto outputs = runModel(maker, {x});
  Reals parts[3];
  for (int64_t part = 0; part < 3; ++part) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t s = 0; s < rows; ++s) {
        for (int64_t d = 0; d < width; ++d) {
          const int64_t column = part * hidden + h * width + d;
          double sum = b[static_cast<size_t>(column)];
          for (int64_t i = 0; i < hidden; ++i) {
            sum += static_cast<double>(x[static_cast<size_t>(s * hidden + i)]) *
                   w[static_cast<size_t>(i * 3 * hidden + column)];
          }
          parts[part].push_back(static_cast<float>(sum));
        }
      }
    }
  }
  const auto split =
      attention({1, heads, heads, rows, rows, width, width, 0, 0, true}, parts[0], parts[1], parts[2], {});
  std::vector<double> joined;
  for (int64_t s = 0; s < rows; ++s) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t d = 0; d < width; ++d) joined.push_back(split[static_cast<size_t>((h * rows + s) * width + d)]);
    }
  }
  ASSERT_EQ(outputs.size(), 1u);
  expectNear(outputs[0], joined);
}

TEST(Attention, RefusalsNameTheAttribute) {
  ModelMaker maker(24);
  for (const char* name : {"q", "k", "v"}) maker.input(name, {1, 3, 8});
  maker.node("Attention", {"q", "k", "v"}, {"y"}, "looks");
  maker.output("y");
  const std::string said = refusal(maker);
  EXPECT_NE(said.find("'looks'"), std::string::npos) << said;
  EXPECT_NE(said.find("q_num_heads"), std::string::npos) << said;
}

TEST(RotaryEmbedding, TurnsPairs) {
  const Reals x = randomReals(2 * 3 * 6, 1), angles = randomReals(3 * 2, 2, -3, 3);
  Reals cosines, sines;
  for (const float angle : angles) {
    cosines.push_back(std::cos(angle));
    sines.push_back(std::sin(angle));
  }
  for (const bool interleaved : {false, true}) {
    ModelMaker maker(23);
    maker.input("x", {1, 2, 3, 6});  // four of six columns turn
    maker.floats("c", {1, 3, 2}, cosines);
    maker.floats("s", {1, 3, 2}, sines);
    auto& node = maker.node("RotaryEmbedding", {"x", "c", "s"}, {"y"});
    ModelMaker::set(node, "rotary_embedding_dim", int64_t{4});
    ModelMaker::set(node, "interleaved", int64_t{interleaved});
    maker.output("y");
    const auto outputs = runModel(maker, {x});
    std::vector<double> expected(x.begin(), x.end());
    for (size_t row = 0; row < 6; ++row) {
      for (size_t pair = 0; pair < 2; ++pair) {
        const size_t a = row * 6 + (interleaved ? 2 * pair : pair);
        const size_t b = row * 6 + (interleaved ? 2 * pair + 1 : pair + 2);
        const double c = cosines[row % 3 * 2 + pair], s = sines[row % 3 * 2 + pair];
        expected[a] = x[a] * c - x[b] * s;
        expected[b] = x[a] * s + x[b] * c;
      }
    }
    ASSERT_EQ(outputs.size(), 1u);
    expectNear(outputs[0], expected);
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx
