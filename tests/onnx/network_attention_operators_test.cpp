// The operators for attention of ONNX and of com.microsoft become the attention operator.
#include "attention_forms.h"

namespace tenon::parsers::onnx {
namespace {

// ONNX's operator: past keys, grouped queries, masks of both kinds, soft caps, causal; in four axes and in three.
TEST(AttentionForms, OperatorOfTheStandardDomain) {
  for (const bool packed : {false, true}) {
    for (const int which : {0, 1, 2, 3}) {
      Form f = kForm;
      f.keyHeads = 2;
      f.causal = which == 1;
      f.softcap = which == 2 ? 1.5 : 0;
      const Reals bias = randomReals(25, 9);
      expectAttention(
          f,
          [&](NodeWriter& w, const Form& form) {
            std::vector<std::string> inputs{"q", "k", "v"};
            if (packed) inputs = {w.columns("q", form, 4), w.columns("k", form, 2), w.columns("v", form, 2)};
            if (which == 3) {
              w.maker().floats("bias", {5, 5}, bias);
              inputs.push_back("bias");
            }
            const std::string y = w.node("Attention", inputs);
            if (form.causal) ModelMaker::set(w.written(), "is_causal", int64_t{1});
            if (form.softcap != 0) ModelMaker::set(w.written(), "softcap", static_cast<float>(form.softcap));
            if (!packed) return y;
            ModelMaker::set(w.written(), "q_num_heads", int64_t{4});
            ModelMaker::set(w.written(), "kv_num_heads", int64_t{2});
            return w.heads(y, form, 4);
          },
          which == 3 ? bias : Reals{}, 24);
    }
  }
}

// MultiHeadAttention of com.microsoft: a bias of the scores, a mask of the keys, causal.
TEST(AttentionForms, MultiHeadAttentionOfMicrosoft) {
  Form f = kForm;
  f.causal = true;
  const Reals bias = randomReals(100, 9);
  Reals all;
  // The mask of the keys makes key 0 of the second in the batch unlikely.
  for (int64_t i = 0; i < 200; ++i)
    all.push_back(bias[static_cast<size_t>(i % 100)] + (i >= 100 && i % 5 == 0 ? -10000.F : 0));
  expectAttention(
      f,
      [&](NodeWriter& w, const Form& form) {
        w.maker().floats("bias", {1, 4, 5, 5}, bias);
        auto& mask = w.maker().initializer("keys", {2, 5}, 6);
        for (int i = 0; i < 10; ++i) mask.add_int32_data(i == 5 ? 0 : 1);
        const std::string y = w.node("MultiHeadAttention", {w.columns("q", form, 4), w.columns("k", form, 4),
                                                            w.columns("v", form, 4), "", "keys", "bias"});
        w.written().set_domain("com.microsoft");
        ModelMaker::set(w.written(), "num_heads", int64_t{4});
        ModelMaker::set(w.written(), "unidirectional", int64_t{1});
        return w.heads(y, form, 4);
      },
      all);
}

TEST(AttentionForms, GroupQueryAttentionOfMicrosoft) {
  Form f = kForm;
  f.keyHeads = 2;
  f.causal = true;
  f.softcap = 2;
  expectAttention(f, [&](NodeWriter& w, const Form& form) {
    auto& last = w.maker().initializer("last", {2}, 6);
    auto& total = w.maker().initializer("total", {1}, 6);
    for (int i = 0; i < 2; ++i) last.add_int32_data(4);
    total.add_int32_data(5);
    const std::string y = w.node("GroupQueryAttention", {w.columns("q", form, 4), w.columns("k", form, 2),
                                                         w.columns("v", form, 2), "", "", "last", "total"});
    w.written().set_domain("com.microsoft");
    ModelMaker::set(w.written(), "num_heads", int64_t{4});
    ModelMaker::set(w.written(), "kv_num_heads", int64_t{2});
    ModelMaker::set(w.written(), "softcap", 2.F);
    return w.heads(y, form, 4);
  });
}

}  // namespace
}  // namespace tenon::parsers::onnx
