// Attention in the forms that exporters write becomes the attention operator, which gives the formula's numbers.
#include "attention_forms.h"

namespace tenon::parsers::onnx {
namespace {

// BERT, ViT, CLIP's pictures: heads split and joined, scores divided, a mask of the keys added.
TEST(AttentionForms, EncodersWithAndWithoutAMask) {
  for (const bool masked : {false, true}) {
    Reals bias;
    for (int64_t i = 0; masked && i < kForm.batch * kForm.heads * kForm.rows * kForm.keys; ++i)
      bias.push_back(i / (kForm.heads * kForm.rows * kForm.keys) == 1 && i % kForm.keys > 2 ? -1e9F : 0);
    expectAttention(
        kForm,
        [&](NodeWriter& w, const Form& f) {
          const std::string q = w.heads(w.columns("q", f, 4), f, 4);
          const std::string k = w.transposed(w.shaped(w.columns("k", f, 4), {f.batch, -1, 4, f.width}), {0, 2, 3, 1});
          const std::string v = w.heads(w.columns("v", f, 4), f, 4);
          std::string s = w.node("Div", {w.node("MatMul", {q, k}), w.number(root(f))});
          if (masked) {  // (1 - mask) * lowest
            w.maker().floats("mask", {2, 1, 1, 5}, {1, 1, 1, 1, 1, 1, 1, 1, 0, 0});
            s = w.node("Add", {s, w.node("Mul", {w.node("Sub", {w.number(1), "mask"}), w.number(-3.4e38F)})});
          }
          const std::string o = w.node("MatMul", {w.softmax(s), v});
          return w.heads(w.shaped(w.transposed(o, {0, 2, 1, 3}), {f.batch, -1, 32}), f, 4);
        },
        bias);
  }
}

// GPT-2: a constant of booleans chooses; the lowest number of f32, of halves, and what older exports wrote.
TEST(AttentionForms, CausalByAConstantThatChooses) {
  Form f = kForm;
  f.causal = true;
  for (const float closed : {-3.4028235e38F, -65504.F, -10000.F}) {
    expectAttention(f, [&](NodeWriter& w, const Form& form) {
      const std::string s = w.node("Div", {scores(w), w.number(root(form))});
      const std::string open = w.bools({1, 1, 5, 5}, lowerTriangle(5, 5));
      return w.node("MatMul", {w.softmax(w.node("Where", {open, s, w.number(closed)})), "v"});
    });
  }
}

// The same with a mask of the keys that is added behind it.
TEST(AttentionForms, CausalByAConstantAndAMask) {
  Form f = kForm;
  f.causal = true;
  const Reals bias{0.5F, -1, 0.25F, 2, -0.5F};
  Reals all;
  for (int i = 0; i < 5; ++i) all.insert(all.end(), bias.begin(), bias.end());
  expectAttention(
      f,
      [&](NodeWriter& w, const Form& form) {
        const std::string s = w.node("Div", {scores(w), w.number(root(form))});
        const std::string open = w.bools({1, 1, 5, 5}, lowerTriangle(5, 5));
        w.maker().floats("mask", {1, 1, 1, 5}, bias);
        const std::string chosen = w.node("Where", {open, s, w.number(-3.4028235e38F)});
        return w.node("MatMul", {w.softmax(w.node("Add", {chosen, "mask"})), "v"});
      },
      all);
}

// Trilu of ones, from which a mask of -infinity is computed, as PyTorch writes scaled_dot_product_attention(is_causal).
TEST(AttentionForms, CausalByTrilu) {
  Form f = kForm;
  f.causal = true;
  expectAttention(f, [&](NodeWriter& w, const Form& form) {
    const float half = 1 / std::sqrt(root(form));
    w.maker().floats("ones", {5, 5}, Reals(25, 1));
    const std::string lower = w.node("Trilu", {"ones"}, "upper", int64_t{0});
    const std::string mask =
        w.node("Where", {w.node("Equal", {lower, w.number(0)}), w.number(-HUGE_VALF), w.number(0)});
    const std::string q = w.node("Mul", {"q", w.number(half)});
    const std::string k = w.node("Mul", {w.transposed("k", {0, 1, 3, 2}), w.number(half)});
    return w.node("MatMul", {w.softmax(w.node("Add", {w.node("MatMul", {q, k}), mask})), "v"});
  });
}

// Masks of booleans at run time: scaled_dot_product_attention(attn_mask) of PyTorch, with zeros for rows without keys.
TEST(AttentionForms, MasksOfBooleans) {
  Reals bias;
  for (int i = 0; i < 25; ++i) bias.push_back(i < 5 || i % 3 == 0 ? 0 : -HUGE_VALF);
  for (const bool zeros : {false, true}) {
    expectAttention(
        kForm,
        [&](NodeWriter& w, const Form& f) {
          std::vector<bool> open;
          for (const float b : bias) open.push_back(b == 0);
          // Not a constant of the engine: it follows from an input.
          const std::string same = w.node("Equal", {"q", "q"});
          const std::string any =
              w.node("ReduceMax", {w.node("Cast", {same}, "to", int64_t{6})}, "keepdims", int64_t{0});
          const std::string mask = w.node(
              "And",
              {w.bools({5, 5}, open), w.node("Cast", {w.node("Reshape", {any, w.list({1, 1})})}, "to", int64_t{9})});
          const std::string added = w.node("Where", {mask, w.number(0), w.number(-HUGE_VALF)});
          const std::string s = w.node("Add", {w.node("Div", {scores(w), w.number(root(f))}), added});
          std::string weights = w.softmax(s);
          if (zeros) weights = w.node("Where", {w.node("IsNaN", {weights}), w.number(0), weights});
          return w.node("MatMul", {weights, "v"});
        },
        bias);
  }
}

// T5: no factor, a bias of positions for each head.
TEST(AttentionForms, BiasOfPositions) {
  Form f = kForm;
  f.scale = 1;
  const Reals bias = randomReals(100, 9);
  expectAttention(
      f,
      [&](NodeWriter& w, const Form&) {
        w.maker().floats("bias", {1, 4, 5, 5}, bias);
        return w.node("MatMul", {w.softmax(w.node("Add", {scores(w), "bias"})), "v"});
      },
      bias);
}

// A factor behind the mask, which it scales as well.
TEST(AttentionForms, ScaledBehindTheMask) {
  const Reals bias = randomReals(25, 9);
  Reals scaled;
  for (const float b : bias) scaled.push_back(b / root(kForm));
  expectAttention(
      kForm,
      [&](NodeWriter& w, const Form& f) {
        w.maker().floats("bias", {5, 5}, bias);
        return w.node("MatMul",
                      {w.softmax(w.node("Div", {w.node("Add", {scores(w), "bias"}), w.number(root(f))})), "v"});
      },
      scaled);
}

// Whisper, BART, torch.nn.MultiheadAttention: three axes, the factor on q, the mask behind a reshape of the scores.
TEST(AttentionForms, HeadsAndBatchInOneAxis) {
  Form f = kForm;
  f.rows = 3;
  const Reals bias = randomReals(30, 9);
  Reals all;
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t h = 0; h < 4; ++h) all.insert(all.end(), bias.begin() + b * 15, bias.begin() + (b + 1) * 15);
  }
  expectAttention(
      f,
      [&](NodeWriter& w, const Form& form) {
        const std::string q = w.shaped(w.node("Mul", {"q", w.number(1 / root(form))}), {8, 3, 8});
        const std::string k = w.transposed(w.shaped("k", {8, 5, 8}), {0, 2, 1});
        w.maker().floats("bias", {2, 1, 3, 5}, bias);
        const std::string s = w.node("Add", {w.shaped(w.node("MatMul", {q, k}), {2, 4, 3, 5}), "bias"});
        const std::string weights = w.shaped(w.softmax(s), {8, 3, 5});
        return w.shaped(w.node("MatMul", {weights, w.shaped("v", {8, 5, 8})}), {2, 4, 3, 8});
      },
      all);
}

// Llama, Mistral, Qwen: keys that heads share are repeated; q and k are turned by their positions on the way.
TEST(AttentionForms, GroupedQueriesAndTurnedPairs) {
  Form f = kForm;
  f.keyHeads = 2;
  f.causal = true;
  expectAttention(f, [&](NodeWriter& w, const Form& form) {
    const auto turned = [&](const std::string& x) {  // by zero: the numbers stay
      const std::string half = w.node("Slice", {x, w.list({4}), w.list({8}), w.list({3})});
      const std::string other = w.node("Slice", {x, w.list({0}), w.list({4}), w.list({3})});
      const std::string swapped = w.node("Concat", {w.node("Neg", {half}), other}, "axis", int64_t{3});
      const Reals zeros(40, 0), ones(40, 1);
      const std::string sine = x + "_sine", cosine = x + "_cosine";
      w.maker().floats(sine, {1, 1, 5, 8}, zeros);
      w.maker().floats(cosine, {1, 1, 5, 8}, ones);
      return w.node("Add", {w.node("Mul", {x, cosine}), w.node("Mul", {swapped, sine})});
    };
    const auto repeated = [&](const std::string& x) {
      const std::string apart = w.node("Unsqueeze", {x, w.list({2})});
      return w.shaped(w.node("Expand", {apart, w.list({2, 2, 2, 5, 8})}), {2, 4, 5, 8});
    };
    const std::string s = w.node("Mul", {scores(w, turned("q"), repeated(turned("k"))), w.number(1 / root(form))});
    w.maker().floats("mask", {1, 1, 5, 5}, [] {
      Reals mask;
      for (const bool open : lowerTriangle(5, 5)) mask.push_back(open ? 0 : -3.4028235e38F);
      return mask;
    }());
    const std::string weights = w.node("Cast", {w.softmax(w.node("Add", {s, "mask"}))}, "to", int64_t{1});
    return w.node("MatMul", {weights, repeated("v")});
  });
}

// Falcon, StarCoder: one head of keys for all of q, which the product broadcasts.
TEST(AttentionForms, OneHeadOfKeys) {
  Form f = kForm;
  f.keyHeads = 1;
  expectAttention(f, [&](NodeWriter& w, const Form& form) {
    return w.node("MatMul", {w.softmax(w.node("Div", {scores(w), w.number(root(form))})), "v"});
  });
}

// Groups as an axis of their own.
TEST(AttentionForms, GroupsAsAnAxis) {
  Form f = kForm;
  f.keyHeads = 2;
  expectAttention(f, [&](NodeWriter& w, const Form& form) {
    const std::string q = w.shaped("q", {2, 2, 2, 5, 8});
    const std::string k = w.transposed(w.shaped("k", {2, 2, 1, 5, 8}), {0, 1, 2, 4, 3});
    const std::string s = w.node("Div", {w.node("MatMul", {q, k}), w.number(root(form))});
    return w.shaped(w.node("MatMul", {w.softmax(s), w.shaped("v", {2, 2, 1, 5, 8})}), {2, 4, 5, 8});
  });
}

// A decoder's step: keys and values of the steps before come first.
TEST(AttentionForms, PastKeysAndValues) {
  Form f = kForm;
  f.rows = 1;
  expectAttention(f, [&](NodeWriter& w, const Form& form) {
    const auto joined = [&](const std::string& x) {
      const std::string past = w.node("Slice", {x, w.list({0}), w.list({4}), w.list({2})});
      const std::string now = w.node("Slice", {x, w.list({4}), w.list({5}), w.list({2})});
      return w.node("Concat", {past, w.node("Neg", {w.node("Neg", {now})})}, "axis", int64_t{2});
    };
    const std::string s = w.node("Div", {scores(w, "q", joined("k")), w.number(root(form))});
    return w.node("MatMul", {w.softmax(s), joined("v")});
  });
}

// Gemma 2: a soft cap.
TEST(AttentionForms, SoftCapsThatAreWrittenOut) {
  Form f = kForm;
  f.softcap = 0.7;
  f.causal = true;
  expectAttention(f, [&](NodeWriter& w, const Form& form) {
    const std::string s = w.node("Mul", {scores(w), w.number(1 / root(form))});
    const std::string capped = w.node("Mul", {w.node("Tanh", {w.node("Div", {s, w.number(0.7F)})}), w.number(0.7F)});
    Reals mask;
    for (const bool open : lowerTriangle(5, 5)) mask.push_back(open ? 0 : -3.4028235e38F);
    w.maker().floats("mask", {1, 1, 5, 5}, mask);
    return w.node("MatMul", {w.softmax(w.node("Add", {capped, "mask"})), "v"});
  });
}

// As einsum writes it: bhid,bhjd->bhij.
TEST(AttentionForms, Einsums) {
  expectAttention(kForm, [&](NodeWriter& w, const Form& f) {
    const std::string s = w.node("Einsum", {"q", "k"}, "equation", std::string("bhid,bhjd->bhij"));
    const std::string weights = w.softmax(w.node("Mul", {s, w.number(1 / root(f))}));
    return w.node("Einsum", {weights, "v"}, "equation", std::string("bhij,bhjd->bhid"));
  });
}

// Softmax written out, as JAX does.
TEST(AttentionForms, SoftmaxThatIsWrittenOut) {
  expectAttention(kForm, [&](NodeWriter& w, const Form& f) {
    const std::string s = w.node("Mul", {scores(w), w.number(1 / root(f))});
    const std::string most = w.node("ReduceMax", {s}, "axes", Ints{3});
    const std::string e = w.node("Exp", {w.node("Sub", {s, most})});
    const std::string sum = w.node("ReduceSum", {e, w.list({3})});
    return w.node("MatMul", {w.node("Div", {e, sum}), "v"});
  });
}

// Attention over the places of an image, channels first: diffusion's autoencoders, generators with self-attention.
TEST(AttentionForms, ChannelsFirst) {
  expectAttention(kForm, [&](NodeWriter& w, const Form& f) {
    const auto channels = [&](const std::string& x) { return w.transposed(w.shaped(x, {8, 5, 8}), {0, 2, 1}); };
    const std::string s = w.node("MatMul", {w.transposed(channels("q"), {0, 2, 1}), channels("k")});
    const std::string weights = w.softmax(w.node("Mul", {s, w.number(1 / root(f))}), 2);
    const std::string y = w.node("MatMul", {channels("v"), w.transposed(weights, {0, 2, 1})});
    return w.shaped(w.transposed(y, {0, 2, 1}), {2, 4, 5, 8});
  });
}

// In halves, with the softmax in f32.
TEST(AttentionForms, HalvesWithASoftmaxOfF32) {
  ModelMaker maker(17);
  const Form& f = kForm;
  maker.input("q", {f.batch, f.heads, f.rows, f.width});
  maker.input("k", {f.batch, f.heads, f.keys, f.width});
  maker.input("v", {f.batch, f.heads, f.keys, f.width});
  NodeWriter w(maker);
  const auto half = [&](const std::string& x) { return w.node("Cast", {x}, "to", int64_t{10}); };
  const std::string scale = half(w.number(1 / root(f)));
  const std::string s = w.node("Mul", {scores(w, half("q"), half("k")), scale});
  const std::string weights = half(w.softmax(w.node("Cast", {s}, "to", int64_t{1})));
  const std::string y = w.node("MatMul", {weights, half("v")});
  ModelMaker::set(maker.node("Cast", {y}, {"y"}), "to", int64_t{1});
  maker.output("y");
  const Operands o(f);
  expectOneAttention(maker);
  const auto outputs = runModel(maker, {o.q, o.k, o.v});
  ASSERT_EQ(outputs.size(), 1u);
  expectNear(outputs[0], attention(f, o.q, o.k, o.v, {}), 5e-3);
}

}  // namespace
}  // namespace tenon::parsers::onnx
