// The cases of all operators but contractions and attention.
#include "cuda/operator_cases.h"

namespace tenon::test {
namespace {

// Parts of one launch and of several; rows that move in packs of each width, few and many of them, and one long one.
void manyParts(OperatorCases& all) {
  const auto parts = [](int count, const std::string& before, const std::string& after) {
    std::vector<std::string> result;
    for (int i = 0; i < count; ++i)
      result.push_back(fmt::format("{}{}{}", before, i % 7 == 3 ? 0 : 1 + i * 5 % 13, after));
    return result;
  };
  const auto same = [](int count, const std::string& part) {
    return std::vector<std::string>(static_cast<size_t>(count), part);
  };
  for (const int count : {1, 2, 33, 64, 65, 200}) {
    add(all, "concat{axis=1}",
        {parts(count, "f16[3,", ",5]"), parts(count, "f32[2,", ",2,4]"), same(count, "bf16[2,8,3,3]")});
    add(all, "concat{axis=0}", {parts(count, "i64[", ",3]"), parts(count, "u8[", "]")});
  }
  // Each part another width of packs; nothing at all; rows past one block, and many more than threads.
  add(all, "concat{axis=1}",
      {{"f16[5,8]", "f16[5,4]", "f16[5,2]", "f16[5,1]", "f16[5,1]", "f16[5,16]"},
       {"f16[4,0]", "f16[4,0]"},
       {"f32[0,3]", "f32[0,4]"}});
  add(all, "concat{axis=0}",
      {{"f16[8]", "f16[3]", "f16[13]", "f16[24]"}, {"i8[257]", "i8[1031]", "i8[16]"}, {"f32[1031,4]", "f32[1,4]"}});
  add(all, "concat{axis=2}",
      {{"f16[1009,3,8]", "f16[1009,3,24]"}, {"i32[70001,1,1]", "i32[70001,1,2]"}, {"bool[31,2,2057]", "bool[31,2,1]"}});
  add(all, "concat{axis=1}",
      {{"f16[2,64,56,56]", "f16[2,32,56,56]", "f16[2,32,56,56]"},
       {"f16[1,24,7,7]", "f16[1,7,7,7]"},
       {"f32[2,3,2,3,2]", "f32[2,5,2,3,2]"}});
}

// Scalar work on concatenations: operands of an element or a vector, an index for each element, each pack, or no whole
// pack.
OperatorCases concatenation() {
  OperatorCases all{"Concatenation", {}};
  const std::string norm = "concat_pointwise{axis=1 parts=3 expr=\"mul(x0,x1);add(t0,x2);relu(t1)\"}";
  const auto channels = [&](const std::string& op, const std::string& type, const std::string& rows,
                            std::vector<int> extents, const std::string& vector) {
    std::vector<std::string> inputs;
    int sum = 0;
    for (const int extent : extents) {
      inputs.push_back(fmt::format("{}[2,{}{}]", type, extent, rows));
      sum += extent;
    }
    for (int i = 0; i < 2; ++i) inputs.push_back(fmt::format(fmt::runtime(vector), type, sum));
    add(all, op, {inputs});
  };
  for (const std::string type : {"f32", "f16", "bf16"}) {
    channels(norm, type, ",5,7", {8, 16, 24}, "{}[{},1,1]");
    channels(norm, type, ",4,4", {3, 8, 1}, "{}[1,{},1,1]");
    channels(norm, type, ",2,4", {8, 8, 8}, "{}[{},1,1]");
    channels(norm, type, ",1", {64, 0, 32}, "{}[1,{},1]");
    channels(norm, type, "", {64, 9, 31}, "{}[{}]");
  }
  channels("concat_pointwise{axis=1 parts=33 expr=\"mul(x0,x1);add(t0,x2);relu(t1)\"}", "f16", ",9,9",
           std::vector<int>(33, 8), "{}[{},1,1]");
  channels("concat_pointwise{axis=1 parts=65 expr=\"mul(x0,x1);sub(x2,t0)\"}", "f16", ",3,3", std::vector<int>(65, 4),
           "{}[{},1,1]");
  add(all, "concat_pointwise{axis=1 parts=2 expr=\"sigmoid(x0);mul(x0,t0)\"}",
      {{"f16[1,24,3,3]", "f16[1,8,3,3]"}, {"f32[3,0]", "f32[3,0]"}});
  add(all, "concat_pointwise{axis=-1 parts=1 expr=\"mul(x0,x1);max(t0,x2)\"}",
      {{"f16[5,40]", "f16[1]", "f16[40]"}, {"f32[1]", "f32[]", "f32[1]"}});
  add(all, "concat_pointwise{axis=0 parts=2 expr=\"add(x0,x1)\"}",
      {{"f16[3,8]", "f16[2,8]", "f16[5,1]"}, {"f32[3,5]", "f32[2,5]", "f32[1,1]"}});
  return all;
}

OperatorCases movement() {
  OperatorCases all{"Movement", {}};
  add(all, "transpose{permutation=[1,0]}",
      {{"f32[1,1]"},
       {"f32[67,131]"},
       {"f16[128,64]"},
       {"f16[67,131]"},
       {"i64[33,40]"},
       {"bool[70,130]"},
       {"f32[0,5]"}});
  add(all, "transpose{permutation=[0,2,1,3]}", {{"f32[2,7,12,64]"}, {"f16[2,5,3,24]"}, {"bf16[1,3,5,7]"}});
  add(all, "transpose{permutation=[0,3,1,2]}", {{"f32[2,17,19,33]"}, {"f16[1,20,20,3]"}});
  add(all, "transpose{permutation=[4,3,2,1,0]}", {{"f32[2,3,4,5,6]"}, {"i32[3,1,17,2,19]"}});
  add(all, "concat{axis=1}",
      {{"f32[2,3,5]", "f32[2,4,5]"}, {"f16[3,8,8]", "f16[3,16,8]", "f16[3,1,8]"}, {"f32[2,3,4,5]", "f32[2,6,4,5]"}});
  add(all, "concat{axis=-1}", {{"f32[7]", "f32[0]", "f32[9]"}, {"i32[5,3]", "i32[5,2]"}, {"bool[2,2]", "bool[2,1]"}});
  manyParts(all);
  add(all, "slice{start=[1,2] size=[3,4]}", {{"f32[5,7]"}, {"f16[4,6]"}, {"i64[9,6]"}});
  add(all, "slice{start=[6,0] size=[4,8] stride=[-2,1]}", {{"f32[7,8]"}, {"u8[7,8]"}});
  add(all, "slice{start=[0,0,0] size=[2,3,8] stride=[0,1,0]}", {{"f32[1,3,1]"}, {"f16[1,3,1]"}, {"u8[1,3,1]"}});
  add(all, "slice{start=[1,2] size=[16,4] stride=[0,0]}", {{"f32[5,7]"}, {"i64[5,7]"}});
  add(all, "slice{start=[-1,-2] size=[6,9] mode=fill}",
      {{"f32[4,5]", "f32[1]"}, {"f16[4,5]", "f16[]"}, {"f32[3,4]"}, {"bool[4,4]"}});
  add(all, "slice{start=[0,-1,0,0] size=[2,5,4,6] mode=fill}", {{"f32[2,3,4,6]"}});
  add(all, "slice{start=[-3,-5] size=[11,16] mode=reflect}", {{"f32[4,5]"}, {"i32[7,1]"}});
  // Whole packs: tiles of half types, and planes that become neighbours.
  add(all, "transpose{permutation=[1,0]}", {{"f16[72,136]"}, {"bf16[64,64]"}, {"f16[8,200]"}, {"f16[40,16]"}});
  add(all, "transpose{permutation=[0,2,1]}", {{"f16[3,40,200]"}, {"bf16[2,16,72]"}});
  add(all, "transpose{permutation=[0,2,3,1]}",
      {{"f16[2,3,8,16]"}, {"f32[2,4,4,5]"}, {"f32[3,2,6,2]"}, {"f16[1,4,2,4]"}, {"i8[2,3,4,4]"}});
  add(all, "slice{start=[-3,2] size=[11,16] mode=wrap}", {{"f16[4,5]"}});
  add(all, "slice{start=[-3,2] size=[11,16] stride=[1,-1] mode=clamp}", {{"f32[4,5]"}});
  // Rolls, in packs of each width; inner axes that are whole, and that are not.
  add(all, "slice{start=[0,3,5,0] size=[2,7,14,24] mode=wrap}",
      {{"f16[2,7,14,24]"}, {"f32[2,7,14,24]"}, {"i64[2,7,14,24]"}, {"i8[2,7,14,24]"}});
  add(all, "slice{start=[0,-3,0,0] size=[2,7,3,5] mode=wrap}", {{"f16[2,7,3,5]"}, {"u8[2,7,3,5]"}, {"bf16[2,7,3,5]"}});
  add(all, "slice{start=[0,0,-3,0] size=[1,7,9,3] mode=wrap}", {{"f16[1,7,9,3]"}, {"f32[1,4,9,3]"}});
  add(all, "slice{start=[8,-24] size=[64,200] mode=wrap}", {{"f16[31,72]"}, {"f16[31,68]"}, {"f32[3,1]"}});
  add(all, "slice{start=[1,0] size=[5,16] mode=clamp}", {{"f16[4,16]"}, {"f32[4,16]"}});
  add(all, "slice{start=[1,0] size=[0,16] mode=wrap}", {{"f16[4,16]"}});
  add(all, "slice{start=[-2,0,0] size=[9,16,1] mode=reflect}", {{"f16[4,16,1]"}});
  add(all, "slice{start=[1] size=[1] mode=wrap}", {{"f32[4]"}});
  return all;
}

OperatorCases pointwise() {
  OperatorCases all{"Pointwise", {}};
  for (const std::string type : {"f32", "f16", "bf16", "i32", "i64", "i8", "u8"}) {
    add(all, "pointwise{expr=\"mul(x0,x1);add(t0,x2);max(t1,0)\"}",
        {{type + "[5,7]", type + "[5,7]", type + "[7]"},
         {type + "[4,64]", type + "[4,1]", type + "[64]"},
         {type + "[2,3,4,8]", type + "[3,1,1]", type + "[1]"}});
  }
  for (const std::string type : {"f32", "f16", "bf16"}) {
    add(all, "pointwise{expr=\"gelu_erf(x0);sigmoid(t0);tanh(t1);exp(t2);clip(t3,0.5,2)\"}",
        {{type + "[1]"}, {type + "[1031]"}, {type + "[8,16,4,4]"}});
    for (const std::string f : {"gelu_erf(x0)", "gelu_tanh(x0)", "tanh(x0)", "exp(x0)", "sigmoid(x0)",
                                "mul(x0,0.01);tanh(t0)", "mul(x0,9);sigmoid(t0)"}) {
      add(all, "pointwise{expr=\"" + f + "\"}", {{type + "[2001]"}});
    }
    add(all, "pointwise{expr=\"less(x0,x1);select(t0,x0,x1)\"}", {{type + "[64]", type + "[64]"}});
  }
  for (const std::string type : {"i32", "i8", "u8"}) {  // results that wrap
    const std::string factor = type == "i32" ? "1000000007" : "101";
    add(all, "pointwise{expr=\"mul(x0," + factor + ");sub(t0,x1);max(t1,x0);add(t2,t2)\"}",
        {{type + "[515]", type + "[515]"}});
  }
  add(all, "pointwise{expr=\"greater(x0,x1)\"}", {{"f32[33,3]", "f32[3]"}, {"i64[16]", "i64[16]"}});
  add(all, "pointwise{expr=\"and(x0,x1);not(t0)\"}", {{"bool[65]", "bool[65]"}, {"bool[4,1]", "bool[1,8]"}});
  add(all, "pointwise{expr=\"cast.f16(x0)\"}", {{"f32[4096]"}, {"i32[77]"}, {"bool[16]"}, {"bf16[9]"}});
  add(all, "pointwise{expr=\"mul(x0,100);cast.i8(t0)\"}", {{"f32[513]"}, {"f16[128]"}});
  add(all, "pointwise{expr=\"cast.f32(x0);mul(t0,0.5);cast.i64(t1)\"}", {{"i64[65]"}, {"u8[32]"}});
  add(all, "pointwise{expr=\"cast.bool(x0)\"}", {{"f32[17]"}, {"i64[17]"}});
  add(all, "pointwise{expr=\"cast.f8e4m3(x0);cast.f32(t0)\"}", {{"f32[600]"}});
  add(all, "pointwise{expr=\"floor_div(x0,x1);mod(x0,x1);add(t0,t1);fmod(x0,x1);add(t2,t3);pow(x1,2);add(t4,t5)\"}",
      {{"i32[64]", "i32[64]"}});
  for (const std::string type : {"f32", "f16", "i32"}) {
    add(all, "multi_pointwise{expr=\"mul(x0,x1);add(t0,x2);max(t1,0)\" results=[2,0]}",
        {{type + "[5,7]", type + "[5,7]", type + "[7]"},
         {type + "[4,64]", type + "[4,1]", type + "[64]"},
         {type + "[2,3,4,8]", type + "[3,1,1]", type + "[1]"}});
  }
  add(all, "multi_pointwise{expr=\"cast.f32(x0);mul(t0,t0);greater(t1,x1);cast.i8(t1)\" results=[1,2,3]}",
      {{"f16[1031]", "f32[1]"}, {"f16[0,4]", "f32[4]"}});
  add(all, "pointwise{expr=\"fma(x0,x1,x2)\"}",
      {{"f32[0,4]", "f32[4]", "f32[1]"}, {"f32[3,1,5]", "f32[1,4,1]", "f32[2,1,1,1]"}});
  return all;
}

OperatorCases reduction() {
  OperatorCases all{"Reduction", {}};
  for (const std::string op : {"sum", "avg", "max", "min"}) {
    add(all, "reduce{op=" + op + " axes=[1]}",
        {{"f32[3,5]"}, {"f32[7,1031]"}, {"f16[2,4099]"}, {"i32[5,33]"}, {"f32[1,70001]"}});
    add(all, "reduce{op=" + op + " axes=[0]}", {{"f32[130,67]"}, {"f16[513,8]"}, {"f32[9000,33]"}});
  }
  add(all, "reduce{op=avg axes=[2,3] keepDims=true}",
      {{"f32[2,5,7,7]"}, {"f16[3,64,14,14]"}, {"bf16[1,1,1,1]"}, {"f32[1,2,64,64]"}});
  // Packs of channels: one, some, many of them, split, and channels that are no whole packs.
  for (const std::string op : {"avg", "max"}) {
    add(all, "reduce{op=" + op + " axes=[2,3] keepDims=true}",
        {{"f16[1,8,112,111]"},
         {"f16[1,32,112,112]"},
         {"f16[2,72,14,13]"},
         {"f32[1,33792,1,3]"},
         {"bf16[3,20,5,5]"},
         {"i8[2,48,3,3]"}});
    add(all, "reduce{op=" + op + " axes=[2,3]}",
        {{"f16[2,1155,7,7]"}, {"f32[5,9,22,23]"}, {"f16[300,3,4,4]"}, {"i32[3,100,2,2]"}});
  }
  // Scalar work in front: a warp, a block, columns, all of them split; broadcast operands on either side.
  for (const std::string op : {"sum", "avg", "max", "min"}) {
    const std::string expr = "pointwise_reduce{expr=\"sub(x0,x1);mul(t0,t0)\" op=" + op;
    add(all, expr + " axes=[1]}",
        {{"f32[7,131]", "f32[131]"},
         {"f16[2,4099]", "f16[2,1]"},
         {"f32[1,70001]", "f32[1,1]"},
         {"f32[300,1031]", "f32[1031]"}});
    add(all, expr + " axes=[0]}",
        {{"f32[130,67]", "f32[67]"}, {"f16[513,40]", "f16[513,1]"}, {"f32[4000,33]", "f32[4000,33]"}});
  }
  add(all, "pointwise_reduce{expr=\"mul(x0,x1);exp(t0)\" op=avg axes=[2,3] keepDims=true}",
      {{"f32[2,5,7,7]", "f32[5,1,1]"}, {"f16[2,16,12,12]", "f16[2,16,12,12]"}});
  add(all, "pointwise_reduce{expr=\"abs(x0)\" op=sum axes=[0,2]}", {{"f32[3,17,5]"}, {"f32[3,0,5]"}, {"f32[0,4,2]"}});
  add(all, "reduce{op=sum axes=[0,2]}", {{"f32[3,17,5]"}, {"i64[3,4,5]"}, {"f32[3,0,5]"}});
  add(all, "reduce{op=prod axes=[-1] keepDims=true}", {{"f32[4,6]"}, {"i32[3,4]"}, {"f32[4,0]"}});
  add(all, "reduce{op=max axes=[1]}", {{"f32[3,0]"}, {"i8[3,0]"}, {"u8[3,40]"}});
  add(all, "reduce{op=sum axes=[0,1,2]}", {{"f32[40,50,60]"}, {"f32[1,1,1]"}});
  add(all, "reduce{op=sum axes=[]}", {{"f32[4,5]"}});
  return all;
}

OperatorCases softmax() {
  OperatorCases all{"Softmax", {}};
  for (const auto& t : kFloats) {
    add(all, "softmax{axis=-1}",
        {{t + "[1]"},
         {t + "[3,5]"},
         {t + "[9,128]"},
         {t + "[2,4,331]"},
         {t + "[3,1000]"},
         {t + "[2,5003]"},
         {t + "[17,384]"},
         {t + "[3,256]"},
         {t + "[3,512]"},
         {t + "[3,1032]"},
         {t + "[2,16384]"}});
  }
  add(all, "softmax{axis=1}", {{"f32[2,7,33]"}, {"f16[2,19,4,5]"}, {"f32[0,4]"}, {"f32[2,1030,3]"}});
  return all;
}

OperatorCases normalization() {
  OperatorCases all{"Normalization", {}};
  for (const auto& t : kFloats) {
    add(all, "normalization{axes=[-1]}",
        {{t + "[3,7]", t + "[7]", t + "[7]"},
         {t + "[5,768]", t + "[768]", t + "[768]"},
         {t + "[2,3,4099]", t + "[4099]", t + "[4099]"},
         {t + "[1030,64]", t + "[64]", t + "[64]"},
         {t + "[2,4096]", t + "[4096]", t + "[4096]"}});
  }
  add(all, "normalization{axes=[1]}",
      {{"f16[1025,512]", "f32[512]", "f32[512]"}, {"f32[1024,200]", "f32[200]", "f32[200]"}});
  add(all, "normalization{axes=[2,3]}",
      {{"f32[2,5,7,9]", "f32[1,5,1,1]", "f32[1,5,1,1]"}, {"f16[2,3,40,41]", "f16[1,3,1,1]", "f16[1,3,1,1]"}});
  add(all, "normalization{axes=[2,3]}",
      {{"f32[2,3,40,40]", "f32[1,3,1,1]", "f32[1,3,1,1]"}, {"f16[2,5,36,36]", "f32[1,5,1,1]", "f32[1,5,1,1]"}});
  for (const auto& t : kFloats) {
    add(all, "normalization{axes=[-1] epsilon=0.01 centered=false}",
        {{t + "[3,7]", t + "[7]", t + "[1]"},
         {t + "[5,768]", t + "[768]", t + "[768]"},
         {t + "[2,3,4099]", t + "[4099]", t + "[1]"},
         {t + "[3,4096]", "f32[4096]", "f32[4096]"},
         {t + "[65,31]", "f32[31]", "f32[1]"}});
  }
  add(all, "normalization{axes=[2,3] groups=2 centered=false}", {{"f32[1,8,40,40]", "f32[1,8,1,1]", "f32[1,8,1,1]"}});
  add(all, "normalization{axes=[2,3] groups=2}",
      {{"f32[1,8,96,96]", "f32[1,8,1,1]", "f32[1,8,1,1]"}, {"f16[2,32,12,16]", "f16[1,32,1,1]", "f16[1,32,1,1]"}});
  add(all, "normalization{axes=[2,3] groups=4}",
      {{"f32[2,12,5,7]", "f32[1,12,1,1]", "f32[1,12,1,1]"}, {"f32[2,12,20,9]", "f32[1,4,1,1]", "f32[1,4,1,1]"}});
  // So many rows that lanes take several.
  add(all, "normalization{axes=[-1]}",
      {{"f16[17003,96]", "f16[96]", "f16[96]"}, {"f32[33853,28]", "f32[28]", "f32[28]"}});
  add(all, "normalization{axes=[-1] centered=false}", {{"f16[8501,136]", "f32[136]", "f32[136]"}});
  add(all, "normalization{axes=[-1] skip=true keepSum=true}",
      {{"bf16[8501,200]", "bf16[200]", "bf16[200]", "bf16[8501,200]"}});
  // Of sums: rows of one pack, of packs of a warp and of a block, of elements; planes.
  for (const auto& t : kFloats) {
    const auto rows = [&](const std::string& fields, const std::string& x, const std::string& parameter) {
      add(all, "normalization{axes=[-1] epsilon=0.01 skip=true" + fields + "}", {{t + x, parameter, parameter, t + x}});
    };
    for (const char* fields : {"", " keepSum=true"}) {
      rows(fields, "[3,7]", t + "[7]");
      rows(fields, "[5,768]", t + "[768]");
      rows(fields, "[2,3,1024]", "f32[1024]");
      rows(fields, "[2,3,4099]", t + "[4099]");
      rows(fields, "[65,64]", t + "[64]");
      rows(fields, "[3,4096]", t + "[4096]");
    }
    rows(" centered=false keepSum=true", "[5,768]", t + "[768]");
    rows(" centered=false", "[2,331]", t + "[1]");
  }
  add(all, "normalization{axes=[-1] skip=true keepSum=true}",
      {{"f32[0,8]", "f32[8]", "f32[8]", "f32[0,8]"},
       {"f16[1025,512]", "f32[512]", "f32[512]", "f16[1025,512]"},
       {"f16[2049,320]", "f16[320]", "f16[320]", "f16[2049,320]"},
       {"f32[2,3,5,8]", "f32[8]", "f32[8]", "f32[2,3,5,8]"}});
  add(all, "normalization{axes=[2,3] skip=true keepSum=true}",
      {{"f32[2,5,7,9]", "f32[1,5,1,1]", "f32[1,5,1,1]", "f32[2,5,7,9]"},
       {"f16[2,3,40,40]", "f16[1,3,1,1]", "f16[1,3,1,1]", "f16[2,3,40,40]"}});
  add(all, "normalization{axes=[2,3] groups=2 skip=true}",
      {{"f32[1,8,96,96]", "f32[1,8,1,1]", "f32[1,8,1,1]", "f32[1,8,96,96]"}});
  add(all, "normalization{axes=[1,2] epsilon=0.001}",
      {{"f32[3,20,8]", "f32[20,8]", "f32[1]"}, {"f32[0,4,4]", "f32[1]", "f32[1]"}});
  return all;
}

OperatorCases gather() {
  OperatorCases all{"Gather", {}};
  const auto one = [&](const std::string& op, const std::vector<std::string>& inputs, int64_t limit) {
    all.cases.push_back({op, inputs, limit});
  };
  one("gather{axis=0}", {"f32[11,8]", "i32[5]"}, 11);
  one("gather{axis=0}", {"f16[100,768]", "i64[3,7]"}, 100);
  one("gather{axis=1}", {"f32[3,9,5]", "i32[2,2]"}, 9);
  one("gather{axis=-1}", {"i8[4,7]", "i64[]"}, 7);
  one("gather{axis=2 batchDims=1}", {"f32[3,2,9,4]", "i32[3,5]"}, 9);
  one("gather{axis=0}", {"f32[4]", "i32[0]"}, 4);
  one("gather{mode=element axis=1}", {"f32[3,9]", "i32[3,4]"}, 9);
  one("gather{mode=element axis=0}", {"f16[8,5]", "i64[3,2]"}, 8);
  one("gather{mode=nd}", {"f32[4,4,6]", "i32[5,2]"}, 4);
  one("gather{mode=nd batchDims=1}", {"i64[2,5,3]", "i32[2,4,1]"}, 5);
  one("gather{mode=nd}", {"bool[5,5]", "i64[7,2]"}, 5);
  // Places that differ: which of two updates of one place wins is not said.
  one("scatter{axis=1}", {"f32[3,9,2]", "i32[3,1,2]", "f32[3,1,2]"}, 9);
  one("scatter{axis=-1}", {"i8[7,33]", "i64[5,1]", "i8[5,1]"}, 33);
  one("scatter{mode=nd}", {"f16[1000,24]", "i64[5,1]", "f16[5,24]"}, 1000);
  one("scatter{mode=nd}", {"f32[90,90,3]", "i32[4,2]", "f32[4,3]"}, 90);
  one("scatter{mode=nd}", {"i64[500]", "i32[3,1]", "i64[3]"}, 500);
  one("scatter{mode=nd}", {"f32[8,4]", "i32[0,1]", "f32[0,4]"}, 8);
  one("cache_update", {"f32[2,3,9,5]", "f32[2,3,2,5]", "i32[2]"}, 9);
  one("cache_update", {"f16[1,4,64,16]", "f16[1,4,1,16]", "i64[1]"}, 64);
  one("cache_update", {"i8[3,1,4,3]", "i8[3,1,4,3]", "i32[3]"}, 4);
  return all;
}

OperatorCases windows() {
  OperatorCases all{"Windows", {}};
  for (const std::string type : {"max", "average"}) {
    add(all, "pooling{type=" + type + " window=[3,3] strides=[2,2] prePadding=[1,1] postPadding=[1,1]}",
        {{"f32[2,5,13,17]"}, {"f16[1,8,12,12]"}, {"bf16[1,3,7,7]"}, {"bf16[2,16,7,8]"}, {"i8[1,3,9,9]"}});
    add(all, "pooling{type=" + type + " window=[5,5] prePadding=[2,2] postPadding=[2,2]}",
        {{"f16[2,16,9,7]"}, {"f32[1,8,6,5]"}});
    add(all, "pooling{type=" + type + " window=[2,2] postPadding=[3,3]}",
        {{"f16[1,8,5,5]"}, {"f32[1,4,4,4]"}});  // windows of padding alone
    add(all, "pooling{type=" + type + " window=[1,1] strides=[2,3]}", {{"f16[1,8,5,7]"}});
    add(all, "pooling{type=" + type + " window=[3,11] prePadding=[1,5] postPadding=[1,5]}", {{"f16[1,8,5,12]"}});
    add(all, "pooling{type=" + type + " window=[2,3] strides=[2,1] ceilMode=true exclusive=false}", {{"f32[1,2,7,9]"}});
    add(all, "pooling{type=" + type + " window=[5]}", {{"f32[2,3,11]"}});
    add(all, "pooling{type=" + type + " window=[2,2,2] strides=[2,2,2]}", {{"f32[1,3,4,6,8]"}});
  }
  add(all, "pooling{type=max_average_blend window=[2,2] blend=0.3}", {{"f32[1,3,5,5]"}});
  add(all, "lrn{window=5 alpha=0.5 beta=0.75 k=2}", {{"f32[2,7,3,5]"}, {"f16[1,16,4,4]"}});
  add(all, "lrn{window=4 alpha=0.1}", {{"f32[1,3,2,2]"}});
  return all;
}

OperatorCases resize() {
  OperatorCases all{"Resize", {}};
  for (const std::string coordinates : {"align_corners", "asymmetric", "half_pixel"}) {
    add(all, "resize{mode=nearest coordinates=" + coordinates + " rounding=half_down shape=[1,3,10,7]}",
        {{"f32[1,3,5,6]"}, {"i64[1,3,11,3]"}});
    add(all, "resize{mode=linear coordinates=" + coordinates + " shape=[2,3,11,13]}",
        {{"f32[2,3,5,7]"}, {"f16[2,3,16,4]"}});
    add(all, "resize{mode=linear coordinates=" + coordinates + " shape=[2,8,11,13]}",
        {{"f16[2,8,5,7]"}, {"f32[2,8,20,6]"}});
    add(all, "resize{mode=linear coordinates=" + coordinates + " shape=[2,3,8,12]}",
        {{"f16[2,3,4,6]"}, {"f32[2,3,8,5]"}, {"u8[2,3,3,12]"}});
    add(all, "resize{mode=nearest coordinates=" + coordinates + " rounding=floor shape=[1,16,10,7]}",
        {{"f16[1,16,5,6]"}, {"i8[1,16,11,3]"}});
    add(all, "resize{mode=cubic coordinates=" + coordinates + " shape=[1,2,9,10]}", {{"f32[1,2,5,5]"}});
  }
  add(all, "resize{mode=linear coordinates=half_pixel shape=[1,2,3,4,5]}", {{"f32[1,2,6,3,10]"}});
  add(all, "resize{mode=cubic excludeOutside=true coordinates=half_pixel shape=[1,1,7,7] scales=[1,1,1.75,1.75]}",
      {{"f32[1,1,4,4]"}});
  add(all, "resize{mode=linear shape=[9]}", {{"u8[4]"}, {"f32[1]"}});
  return all;
}

OperatorCases lines() {
  OperatorCases all{"Lines", {}};
  add(all, "topk{k=3}",
      {{"f32[3]"}, {"f32[1,5000]"}, {"f32[4,17]"}, {"f16[2,1001]"}, {"i32[3,100]"}, {"i64[2,5,300]"}});
  add(all, "topk{k=4 axis=1 largest=false indexType=i64}", {{"f32[2,9,5]"}, {"i8[1,40,2]"}});
  add(all, "topk{k=50}", {{"f32[2,5000]"}, {"f16[3,1001]"}, {"i64[2,300]"}, {"f32[3,50]"}, {"f32[2,2,64]"}});
  add(all, "topk{k=1000}", {{"f32[1,1024]"}});
  add(all, "topk{k=20 axis=1 largest=false}", {{"i8[2,400]"}, {"i32[2,70,3]"}, {"bf16[2,1025]"}});
  add(all, "topk{k=0}", {{"f32[2,5]"}});
  for (const std::string flags : {"", " exclusive=true", " reverse=true", " exclusive=true reverse=true"}) {
    add(all, "cumulative{axis=-1" + flags + "}", {{"f32[1]"}, {"f32[3,1030]"}, {"i32[2,7]"}});
    add(all, "cumulative{axis=0" + flags + "}", {{"f32[9,5]"}, {"f16[8,3]"}});
  }
  add(all, "cumulative{axis=1}", {{"f32[2,5,1024]"}, {"i64[3,0]"}});
  return all;
}

OperatorCases narrow() {
  OperatorCases all{"Narrow", {}};
  const auto one = [&](const std::string& op, const std::vector<std::string>& inputs) {
    all.cases.push_back({op, inputs, 0, true, 0.02});
  };
  for (const std::string type : {"i8", "u8", "f8e4m3"}) {
    one("quantize{type=" + type + "}", {"f32[1025]", "f32[]"});
    one("quantize{type=" + type + "}", {"f16[1037]", "f16[]"});
    one("quantize{type=" + type + " axis=1}", {"f16[3,7,5]", "f16[7]"});
    one("dequantize{axis=0}", {type + "[6,5]", "f32[6]"});
    one("dequantize{type=f16}", {type + "[4,8]", "f16[2,4]"});
  }
  one("quantize{axis=0}", {"f32[4,9]", "f32[4]", "i8[4]"});
  one("quantize{type=i4}", {"f32[64]", "f32[]"});
  one("dequantize{}", {"i32[33]", "f32[1]", "i32[1]"});
  add(all, "fill{shape=[3,5] start=1.5}", {{}});
  add(all, "fill{shape=[3,5] type=i64 start=2 deltas=[10,1]}", {{}});
  add(all, "fill{shape=[7] type=f16}", {{"f16[]", "f16[1]"}});
  add(all, "fill{shape=[2,3] type=i32}", {{"i32[1]", "i32[0]"}, {"i32[1]", "i32[2]"}});
  add(all, "shape", {{"f32[2,3,5]"}, {"f16[]"}});
  return all;
}

}  // namespace

ops::TensorType parseType(const std::string& text) {
  const auto bracket = text.find('[');
  ops::TensorType type{parseDataType(text.substr(0, bracket)), {}, std::nullopt};
  TextReader in(std::string_view(text).substr(bracket), "type of a case");
  for (const int64_t extent : FieldText<std::vector<int64_t>>::read(in)) type.shape.emplace_back(extent);
  return type;
}

std::string graphOf(const OperatorCase& c) {
  const auto op = ops::Operator::parse(c.op);
  std::vector<ops::TensorType> types;
  std::string text = "graph \"case\" {\n";
  std::string names;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    types.push_back(parseType(c.inputs[i]));
    text += c.constantWeights && i == 1 ? fmt::format("const %x1 : {} = random(9)\n", c.inputs[i])
                                        : fmt::format("input %x{} : {}\n", i, c.inputs[i]);
    names += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
  }
  const auto outputs = op.infer("case", types);
  std::string results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results +=
        fmt::format("{}%y{} : {}{}", i == 0 ? "" : ", ", i, name(outputs[i].dtype), tenon::text(outputs[i].shape));
  }
  text += fmt::format("{} = {}({}) \"op\" from(\"op\")\n", results, c.op, names);
  for (size_t i = 0; i < outputs.size(); ++i) text += fmt::format("output %y{}\n", i);
  return text + "}";
}

void add(OperatorCases& to, const std::string& op, const std::vector<std::vector<std::string>>& inputs) {
  for (const auto& list : inputs) to.cases.push_back({op, list});
}

// Samples at computed places.
OperatorCases sampling() {
  OperatorCases all{"Sampling", {}};
  for (const std::string type : {"f32", "f16"}) {
    const std::string small = type + "[2,3,5,7]";
    const std::string large = type + "[2,3,9,4]";
    for (const std::string fields :
         {"height=2 width=3", "height=3 width=1 samples=2 offset=0 border=margin",
          "height=2 width=2 pool=max border=zero", "height=2 width=2 samples=1 pool=weighted_max",
          "height=3 width=2 grid=corners border=zero", "height=1 width=4 grid=corners",
          "height=2 width=2 grid=pixels pool=max", "height=2 width=2 least=0"}) {
      all.cases.push_back({"roi_align{" + fields + "}", {"f32[65,4]", "i32[65,2]", small, large}, 2});
    }
    all.cases.push_back({"roi_align{height=2 width=2}", {"f32[0,4]", "i32[0,2]", small}, 2});
    add(all, "deformable_columns{kernel=[3,2] strides=[2,1] padding=[1,0] dilations=[1,2] groups=2 hasMask=true}",
        {{type + "[2,4,6,7]", type + "[2,24,3,5]", type + "[2,12,3,5]"}});
    add(all, "deformable_columns",
        {{type + "[1,3,17,16]", type + "[1,2,17,16]"}, {type + "[0,3,4,4]", type + "[0,2,4,4]"}});
    for (const std::string index : {"i32", "i64"}) {
      all.cases.push_back(
          {"deformable_attention",
           {type + "[2,30,3,9]", index + "[2,2]", "i32[2]", type + "[2,5,3,2,4,2]", type + "[2,5,3,2,4]"},
           6,
           true});
    }
  }
  return all;
}

std::vector<OperatorCases> operatorCases() {
  std::vector<OperatorCases> all{movement(),      concatenation(), pointwise(),     reduction(), softmax(),
                                 normalization(), gather(),        windows(),       resize(),    lines(),
                                 narrow(),        sampling(),      selectionCases()};
  for (auto& group : contractionCases()) all.push_back(std::move(group));
  return all;
}

}  // namespace tenon::test
