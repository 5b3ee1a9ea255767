// The cases of convolutions, matrix products and attention.
#include "cuda/operator_cases.h"

namespace tenon::test {
namespace {

// Products with one constant matrix: rows that are no whole packs, both layouts of weights, epilogues of transformers.
OperatorCases products() {
  OperatorCases all{"Products", {}};
  const auto constant = [&](const std::string& op, const std::vector<std::string>& inputs) {
    all.cases.push_back({op, inputs, 0, false, 0, true});
  };
  for (const std::string t : {"f16", "bf16"}) {
    constant("matmul", {t + "[100,200]", t + "[200,104]"});
    constant("matmul{transposeB=true epilogue=\"add(x0,x1);gelu_erf(t0)\"}",
             {t + "[2,17,520]", t + "[72,520]", t + "[72]"});
  }
  constant("matmul{epilogue=\"add(x0,x1);add(t0,x2)\"}", {"f16[3,43,136]", "f16[136,40]", "f16[40]", "f16[3,43,40]"});
  constant("matmul", {"f16[33,77]", "f16[77,35]"});
  constant("matmul{transposeB=true}", {"f16[1,1030]", "f16[130,1030]"});
  constant("matmul{transposeB=true}", {"f16[0,64]", "f16[16,64]"});
  // Columns that are no whole packs, an inner extent that is no whole stage, rows past a tile; each kind of operand.
  constant("matmul{transposeB=true epilogue=\"cast.f32(x0)\"}", {"f16[37,72]", "f16[67,72]"});
  constant("matmul{epilogue=\"mul(x0,x1);add(t0,x2);add(t1,x3);relu(t2)\"}",
           {"bf16[197,264]", "bf16[264,136]", "bf16[1]", "bf16[136]", "bf16[197,136]"});
  constant("matmul{transposeB=true epilogue=\"add(x0,x1);tanh(t0)\"}", {"f16[1,2,1,200]", "f16[129,200]", "f16[129]"});
  constant("convolution{hasBias=true epilogue=\"add(x0,x1);relu(t0)\"}",
           {"f16[2,136,5,7]", "f16[200,136,1,1]", "f16[200]", "f16[2,200,5,7]"});
  // Windows: strides, dilations, paddings that differ, tiles over images.
  constant("convolution{hasBias=true prePadding=[1,1] postPadding=[1,1] epilogue=\"add(x0,x1);relu(t0)\"}",
           {"f16[3,40,6,5]", "f16[72,40,3,3]", "f16[72]", "f16[3,72,6,5]"});
  constant("convolution{strides=[2,3] dilations=[2,1] prePadding=[2,0] postPadding=[1,3]}",
           {"f16[2,72,11,13]", "f16[24,72,3,5]"});
  constant("convolution{strides=[2,2]}", {"bf16[2,64,9,8]", "bf16[33,64,1,1]"});
  constant("convolution{prePadding=[0,1] postPadding=[2,1]}", {"f16[1,32,7,7]", "f16[16,32,7,7]"});
  add(all, "matmul", {{"f16[65,64]", "f16[64,65]"}, {"f16[130,1]", "f16[1,8]"}});
  return all;
}

// Depthwise convolutions with constant weights.
OperatorCases depthwise() {
  OperatorCases all{"Depthwise", {}};
  const auto fixed = [&](const std::string& op, const std::vector<std::string>& inputs) {
    all.cases.push_back({op, inputs, 0, false, 0, true});
  };
  // One strip and many, partial strips and tiles, rows of one block and of several, every
  // padding, results and operands of other types; an image of one element; two forms for 5x5.
  const auto square = [&](const std::string& type, const std::vector<int>& x, int kernel, int stride,
                          const std::string& pads, const std::string& more = "",
                          const std::vector<std::string>& operands = {}) {
    std::vector<std::string> inputs{fmt::format("{}[{}]", type, fmt::join(x, ",")),
                                    fmt::format("{}[{},1,{},{}]", type, x[1], kernel, kernel)};
    inputs.insert(inputs.end(), operands.begin(), operands.end());
    fixed(fmt::format("convolution{{groups={} strides=[{},{}] {}{}}}", x[1], stride, stride, pads, more), inputs);
  };
  const std::string pads1 = "prePadding=[1,1] postPadding=[1,1]";
  const std::string pads2 = "prePadding=[2,2] postPadding=[2,2]";
  square("f16", {2, 16, 9, 7}, 5, 1, pads2);
  square("f16", {3, 8, 10, 13}, 3, 2, "prePadding=[0,1] postPadding=[1,0]");
  square("f16", {2, 104, 14, 14}, 3, 1, pads1, " epilogue=\"hard_sigmoid(x0,0.2,0.5);mul(x0,t0)\"");
  square("f16", {1, 24, 1, 1}, 3, 1, pads1);
  square("bf16", {1, 40, 1, 3}, 5, 2, pads2);
  square("bf16", {3, 200, 13, 5}, 3, 1, "prePadding=[2,0] postPadding=[0,2]", " hasBias=true epilogue=\"relu(x0)\"",
         {"bf16[200]"});
  square("f32", {2, 12, 17, 19}, 5, 1, "prePadding=[0,4] postPadding=[4,0]", " hasBias=true", {"f32[12]"});
  square("f32", {1, 4, 31, 9}, 3, 2, "prePadding=[1,0] postPadding=[0,1]", " epilogue=\"cast.f16(x0)\"");
  square("f16", {2, 16, 7, 7}, 3, 1, pads1, " epilogue=\"add(x0,x1);cast.f32(t0)\"", {"f16[2,16,7,7]"});
  square("f16", {2, 72, 15, 16}, 5, 2, pads2, " epilogue=\"mul(x0,x1);relu(t0)\"", {"f16[2,72,8,8]"});
  square("f16", {1, 16, 9, 8}, 3, 1, "prePadding=[3,3] postPadding=[3,3]");  // a row of results that sees no row of x
  square("f16", {1, 16, 2, 30}, 5, 1, "prePadding=[4,4] postPadding=[7,1]");
  square("f16", {1, 8, 5, 1039}, 3, 1, pads1);
  square("f32", {1, 8, 7, 1531}, 5, 2, pads2);
  square("f32", {1, 4, 521, 301}, 3, 1, pads1);
  square("f16", {9, 960, 7, 7}, 5, 1, pads2);
  square("f16", {5, 1032, 14, 13}, 5, 2, pads2);
  // 7x7: strips of several rows and images, a part of the last one, two tiles of columns, tiles of channels that are
  // not whole.
  const std::string pads3 = "prePadding=[3,3] postPadding=[3,3]";
  square("f16", {2, 40, 9, 7}, 7, 1, pads3);
  square("f16", {19, 16, 7, 7}, 7, 1, pads3, " hasBias=true", {"f16[16]"});
  square("f16", {1, 8, 1, 1}, 7, 1, pads3);
  square("bf16", {3, 56, 14, 13}, 7, 1, pads3, " hasBias=true epilogue=\"relu(x0)\"", {"bf16[56]"});
  square("f16", {2, 24, 29, 57}, 7, 1, "prePadding=[0,5] postPadding=[6,1]");
  square("f16", {1, 8, 5, 137}, 7, 1, pads3);
  square("bf16", {1, 8, 3, 24}, 7, 1, "prePadding=[6,6] postPadding=[6,6]");
  square("f16", {3, 16, 11, 17}, 7, 1, pads3, " epilogue=\"add(x0,x1);cast.f32(t0)\"", {"f16[3,16,11,17]"});
  square("f16", {2, 40, 6, 28}, 7, 1, pads3, " epilogue=\"mul(x0,x1)\"", {"f16[40,1,1]"});
  square("f16", {2, 32, 8, 9}, 7, 1, pads3, " epilogue=\"cast.i64(x0)\"");
  square("f16", {2, 24, 15, 14}, 7, 2, pads3);
  square("bf16", {1, 16, 13, 11}, 7, 2, "prePadding=[2,3] postPadding=[3,2]", " hasBias=true", {"bf16[16]"});
  square("f32", {2, 12, 9, 11}, 7, 1, pads3, " hasBias=true", {"f32[12]"});
  square("f32", {1, 8, 15, 13}, 7, 2, pads3);
  square("f16", {1, 8, 19, 18}, 7, 1, "prePadding=[6,6] postPadding=[6,6] dilations=[2,2]");
  square("f16", {1, 8, 19, 18}, 9, 1, "prePadding=[4,4] postPadding=[4,4]");
  fixed("convolution{groups=8 strides=[2,2] prePadding=[1,1] postPadding=[1,1]}", {"bf16[3,8,11,12]", "bf16[8,1,3,5]"});
  fixed("convolution{groups=8 strides=[1,2] prePadding=[1,1] postPadding=[1,1]}", {"f16[3,8,11,12]", "f16[8,1,3,3]"});
  return all;
}

OperatorCases contractions() {
  OperatorCases all{"Contractions", {}};
  for (const std::string t : {"f32", "f16", "bf16", "i8"}) {
    add(all, "matmul",
        {{t + "[1,7]", t + "[7,5]"}, {t + "[33,65]", t + "[65,70]"}, {t + "[3,1,9,20]", t + "[2,20,11]"}});
    add(all, "matmul{transposeA=true transposeB=true}", {{t + "[40,35]", t + "[33,40]"}});
    add(all, "matmul{transposeB=true}",
        {{t + "[1,70]", t + "[33,70]"}, {t + "[1,5,64]", t + "[17,64]"}, {t + "[8,37]", t + "[1,37]"}});
    add(all, "convolution", {{t + "[3,24,1,1]", t + "[10,24,1,1]"}, {t + "[1,3,4,5]", t + "[9,3,4,5]"}});
    add(all, "convolution{prePadding=[1,1] postPadding=[1,1]}", {{t + "[2,5,9,11]", t + "[7,5,3,3]"}});
    add(all, "convolution{strides=[2,2] groups=6 hasBias=true prePadding=[1,0] postPadding=[0,1]}",
        {{t + "[1,6,9,9]", t + "[6,1,3,3]", t + "[6]"}});
  }
  for (const auto& t : kFloats) {
    add(all, "matmul{transposeB=true epilogue=\"add(x0,x1);relu(t0)\"}",
        {{t + "[2,17,40]", t + "[2,19,40]", t + "[19]"}});
    add(all, "convolution{hasBias=true epilogue=\"add(x0,x1);relu(t0)\"}",
        {{t + "[1,3,8,8]", t + "[4,3,3,3]", t + "[4]", t + "[1,4,6,6]"}});
    add(all, "deconvolution{strides=[2,2] prePadding=[1,1] postPadding=[1,0]}", {{t + "[1,4,5,6]", t + "[4,3,3,3]"}});
  }
  const auto fixed = [&](const std::string& op, const std::vector<std::string>& inputs) {
    all.cases.push_back({op, inputs, 0, false, 0, true});
  };
  for (const auto& t : kFloats) {
    fixed("convolution{groups=16 prePadding=[1,1] postPadding=[1,1]}", {t + "[2,16,9,7]", t + "[16,1,3,3]"});
    fixed(
        "convolution{groups=8 strides=[2,2] prePadding=[2,2] postPadding=[2,2] hasBias=true epilogue=\"relu(x0);mul(t0,x1)\"}",
        {t + "[1,8,12,11]", t + "[8,1,5,5]", t + "[8]", t + "[8,1,1]"});
  }
  // Images of few channels.
  for (const std::string t : {"f16", "bf16"}) {
    fixed("convolution{strides=[2,2] prePadding=[3,3] postPadding=[3,3] hasBias=true epilogue=\"relu(x0)\"}",
          {t + "[2,3,33,38]", t + "[16,3,7,7]", t + "[16]"});
    fixed("convolution{prePadding=[1,1] postPadding=[1,1] hasBias=true}",
          {t + "[1,1,14,9]", t + "[8,1,3,3]", t + "[8]"});
    fixed("convolution{strides=[2,2] prePadding=[1,1] postPadding=[1,1] epilogue=\"relu(x0)\"}",
          {t + "[1,3,34,70]", t + "[24,3,3,3]"});
    fixed("convolution{strides=[4,4] prePadding=[2,2] postPadding=[2,2] hasBias=true}",
          {t + "[1,3,47,50]", t + "[96,3,11,11]", t + "[96]"});
    fixed("convolution{strides=[3,1] prePadding=[0,1] postPadding=[2,0]}", {t + "[3,4,29,18]", t + "[40,4,4,5]"});
    // Of f32, rounded on the way; tiles inside of which nothing is padding, too.
    const auto rounded = [&](const std::string& cast, const std::string& convolution,
                             const std::vector<std::string>& inputs) {
      const std::string operands = inputs.size() > 2 ? "[-1,1,2]" : "[-1,1]";
      fixed("composite{parts=[{pointwise{expr=\"" + cast + "\"} [0]},{" + convolution + " " + operands +
                "}] outputs=[1]}",
            inputs);
    };
    const std::string held = t == "f16" ? "clip(x0,-65504,65504);cast.f16(t0)" : "cast.bf16(x0)";
    rounded(held, "convolution{strides=[2,2] prePadding=[1,1] postPadding=[1,1] hasBias=true epilogue=\"relu(x0)\"}",
            {"f32[3,3,70,134]", t + "[16,3,3,3]", t + "[16]"});
    rounded(held, "convolution{strides=[2,2] prePadding=[3,3] postPadding=[3,3] hasBias=true epilogue=\"relu(x0)\"}",
            {"f32[1,3,69,141]", t + "[64,3,7,7]", t + "[64]"});
    rounded("cast." + t + "(x0)", "convolution{prePadding=[1,1] postPadding=[1,1]}",
            {"f32[2,1,27,53]", t + "[8,1,3,3]"});
    rounded(held, "convolution{strides=[3,1] prePadding=[0,1] postPadding=[2,0]}",
            {"f32[1,4,59,58]", t + "[40,4,4,5]"});
  }
  // Points between few channels: every rest of 32 on both sides, groups of results, operands of every kind.
  for (const std::string t : {"f16", "bf16"}) {
    const std::string sums = "convolution{hasBias=true epilogue=\"add(x0,x1)\"}";
    fixed("convolution{hasBias=true epilogue=\"relu(x0)\"}", {t + "[2,16,9,7]", t + "[24,16,1,1]", t + "[24]"});
    fixed("convolution{}", {t + "[3,8,1,1]", t + "[8,8,1,1]"});
    fixed(sums, {t + "[5,40,7,7]", t + "[72,40,1,1]", t + "[72]", t + "[5,72,7,7]"});
    fixed("convolution{hasBias=true epilogue=\"mul(x0,x1);add(t0,x2);mul(t1,x3)\"}",
          {t + "[2,120,11,3]", t + "[40,120,1,1]", t + "[40]", t + "[40,1,1]", t + "[2,40,11,3]", t + "[1]"});
    fixed("convolution{epilogue=\"mul(x0,x1);add(t0,x2)\"}",
          {t + "[3,72,5,5]", t + "[64,72,1,1]", t + "[3,64,5,5]", t + "[3,64,5,5]"});
    fixed("convolution{epilogue=\"mul(x0,x1)\"}", {t + "[3,88,5,5]", t + "[104,88,1,1]", t + "[104,1,1]"});
    fixed("convolution{epilogue=\"cast.f32(x0)\"}", {t + "[3,32,5,5]", t + "[80,32,1,1]"});
    fixed("convolution{hasBias=true epilogue=\"sigmoid(x0);mul(x0,t0)\"}",
          {t + "[1,112,7,7]", t + "[672,112,1,1]", t + "[672]"});
    fixed(sums, {t + "[2,128,5,3]", t + "[264,128,1,1]", t + "[264]", t + "[2,264,5,3]"});
    fixed("convolution{epilogue=\"cast.f32(x0);add(t0,x1)\"}", {t + "[3,56,4,4]", t + "[16,56,1,1]", "f32[3,16,4,4]"});
    fixed(sums, {t + "[1,24,2,3,5]", t + "[8,24,1,1,1]", t + "[8]", t + "[1,8,2,3,5]"});
  }
  fixed("convolution{epilogue=\"relu(x0)\"}", {"f16[1,8,301,307]", "f16[8,8,1,1]"});
  fixed("convolution{groups=4 dilations=[2,2]}", {"f32[1,4,9,10]", "f32[4,1,3,3]"});
  add(all, "matmul{transposeB=true epilogue=\"add(x0,x1);mul(t0,x2)\"}",
      {{"f16[3,40]", "f16[19,40]", "f16[19]", "f16[3,19]"}, {"f32[1,40]", "f32[19,40]", "f32[1]", "f32[1,19]"}});
  add(all, "convolution{hasBias=true epilogue=\"relu(x0);mul(t0,x1)\"}",
      {{"f16[2,16,1,1]", "f16[8,16,1,1]", "f16[8]", "f16[2,8,1,1]"}});
  add(all, "convolution{dilations=[2] groups=2}", {{"f32[2,4,20]", "f32[6,2,3]"}});
  add(all, "convolution",
      {{"f32[1,2,4,5,6]", "f32[3,2,2,2,2]"}, {"f32[0,2,5,5]", "f32[3,2,3,3]"}, {"f32[1,64,7,7]", "f32[32,64,1,1]"}});
  add(all, "deconvolution{groups=2 dilations=[2,1] hasBias=true}", {{"f32[2,4,3,3]", "f32[4,3,2,3]", "f32[6]"}});
  add(all, "convolution{epilogue=\"cast.f32(x0);mul(t0,0.01)\"}", {{"i8[1,4,5,5]", "i8[4,4,3,3]"}});
  return all;
}

// A head's width, rows and keys at, below and past the tiles of the tensor cores' kernel; what it refuses; every kind
// of mask.
OperatorCases attention() {
  OperatorCases all{"Attention", {}};
  add(all, "attention{heads=2 scale=0.125 packed=true}",
      {{"f16[2,37,384]"}, {"bf16[1,37,384]"}, {"f16[1,1,384]"}, {"f16[1,128,384]"}, {"f16[1,197,96]"}});
  add(all, "attention{heads=2 scale=0.125 packed=true}",
      {{"f16[1,15,384]"}, {"bf16[1,17,384]"}, {"bf16[1,197,384]"}, {"f16[1,208,384]"}, {"f16[1,255,384]"}});
  add(all, "attention{heads=4 scale=0.125 packed=true}", {{"f16[33,66,768]"}});
  add(all, "attention{heads=2 scale=0.125 packed=true hasMask=true}",
      {{"f16[1,197,384]", "f16[1,2,197,197]"},
       {"bf16[2,15,384]", "bf16[1,1,1,15]"},
       {"f16[1,130,384]", "f16[1,1,130,1]"},
       {"bf16[1,255,384]", "bf16[1,2,1,255]"}});
  add(all, "attention{scale=-0.5}",
      {{"f16[2,129,64]", "f16[2,70,64]", "f16[2,70,64]"}, {"bf16[1,40,32]", "bf16[1,33,32]", "bf16[1,33,32]"}});
  add(all, "attention{heads=2 scale=0.125 packed=true hasMask=true}",
      {{"f16[2,66,384]", "f16[2,1,1,66]"}, {"bf16[2,19,384]", "bf16[1,1,19,19]"}});
  add(all, "attention{scale=0.3}",
      {{"f16[2,3,20,16]", "f16[2,3,31,16]", "f16[2,3,31,16]"},
       {"f16[1,300,40]", "f16[1,7,40]", "f16[1,7,40]"},
       {"f16[3,8]", "f16[130,8]", "f16[130,8]"}});
  // Heads that share keys and values.
  add(all, "attention{scale=0.3}",
      {{"f16[2,6,20,16]", "f16[2,2,31,16]", "f16[2,2,31,16]"},
       {"f32[4,9,8]", "f32[1,17,8]", "f32[1,17,8]"},
       {"f32[2,2,6,9,5]", "f32[2,2,3,7,5]", "f32[2,2,3,7,3]"}});
  add(all, "attention{scale=0.125 hasMask=true}",
      {{"f16[2,8,70,64]", "f16[2,2,70,64]", "f16[2,2,70,64]", "f16[1,8,70,70]"},
       {"bf16[1,4,1,64]", "bf16[1,1,130,64]", "bf16[1,1,130,64]", "bf16[130]"}});
  // Masks that repeat along the batch, and leading axes of which a mask has some.
  add(all, "attention{heads=3 scale=0.2 packed=true hasMask=true}",
      {{"f16[2,4,49,288]", "f16[4,3,49,49]"},
       {"f16[2,4,49,288]", "f16[1,4,1,49,49]"},
       {"bf16[3,2,20,288]", "bf16[2,1,1,20]"},
       {"f32[2,3,17,72]", "f32[3,3,17,17]"}});
  add(all, "attention{heads=1 packed=true hasMask=true}",
      {{"f16[2,3,70,192]", "f16[3,1,70,70]"},
       {"f16[2,3,70,192]", "f16[2,3,1,1,70]"},
       {"f16[2,3,30,192]", "f16[2,1,1,30,30]"}});
  add(all, "attention{scale=0.3 hasMask=true}",
      {{"f16[2,3,5,20,16]", "f16[2,3,5,31,16]", "f16[2,3,5,31,16]", "f16[3,5,20,31]"},
       {"f32[2,2,3,2,9,5]", "f32[2,2,3,2,7,5]", "f32[2,2,3,2,7,5]", "f32[3,1,9,7]"},
       {"f32[2,2,2,9,8]", "f32[2,2,2,7,8]", "f32[2,2,2,7,8]", "f32[2,1,1,9,7]"}});
  add(all, "attention{heads=3 scale=0.1 hasMask=true}",
      {{"f16[2,17,192]", "f16[2,130,192]", "f16[2,130,192]", "f16[2,3,17,130]"},
       {"f16[2,16,192]", "f16[2,33,192]", "f16[2,33,192]", "f16[2,1,16,1]"}});
  add(all, "attention{scale=-2 hasMask=true}", {{"bf16[2,5,128]", "bf16[2,70,128]", "bf16[2,70,128]", "bf16[2,1,70]"}});
  add(all, "attention{scale=0.05}",
      {{"f16[2,33,256]", "f16[2,40,256]", "f16[2,40,256]"},
       {"f16[1,20,200]", "f16[1,20,200]", "f16[1,20,200]"},
       {"f16[2,9,12]", "f16[2,7,12]", "f16[2,7,12]"},
       {"f16[2,9,16]", "f16[2,7,16]", "f16[2,7,24]"},
       {"f16[2,9,16]", "f16[2,0,16]", "f16[2,0,16]"},
       {"f16[2,0,16]", "f16[2,5,16]", "f16[2,5,16]"},
       {"f16[3,1,64]", "f16[3,700,64]", "f16[3,700,64]"},
       {"f32[1,35,32]", "f32[1,140,32]", "f32[1,140,32]"},
       {"f16[2,5,272]", "f16[2,5,272]", "f16[2,5,272]"}});
  add(all, "attention{scale=0.3 causal=true}",
      {{"f32[2,3,37,64]", "f32[2,3,37,64]", "f32[2,3,37,64]"},
       {"f16[1,4,70,64]", "f16[1,2,33,64]", "f16[1,2,33,64]"},
       {"bf16[1,2,9,24]", "bf16[1,2,150,24]", "bf16[1,2,150,24]"},
       {"f32[2,5,7]", "f32[2,9,7]", "f32[2,9,3]"}});
  add(all, "attention{scale=0.3 causal=true hasMask=true}",
      {{"f32[1,2,40,64]", "f32[1,2,50,64]", "f32[1,2,50,64]", "f32[2,1,50]"}});
  add(all, "attention{heads=2 scale=0.125 packed=true hasMask=true emptyIsZero=true}",
      {{"f32[2,37,96]", "f32[37,37]"}});
  return all;
}

}  // namespace

std::vector<OperatorCases> contractionCases() { return {depthwise(), contractions(), products(), attention()}; }

}  // namespace tenon::test
