// The cases.
#include "cuda/operator_cases.h"

namespace tenon::test {
namespace {

// One operator over several lists of inputs.
void add(OperatorCases& to, const std::string& op, const std::vector<std::vector<std::string>>& inputs) {
  for (const auto& list : inputs) to.cases.push_back({op, list});
}

OperatorCases movement() {
  OperatorCases all{"Movement", {}};
  add(all, "transpose{permutation=[1,0]}", {{"f32[1,1]"}, {"f32[67,131]"}, {"f16[128,64]"}, {"f16[67,131]"}, {"i64[33,40]"}, {"bool[70,130]"}, {"f32[0,5]"}});
  add(all, "transpose{permutation=[0,2,1,3]}", {{"f32[2,7,12,64]"}, {"f16[2,5,3,24]"}, {"bf16[1,3,5,7]"}});
  add(all, "transpose{permutation=[0,3,1,2]}", {{"f32[2,17,19,33]"}, {"f16[1,20,20,3]"}});
  add(all, "transpose{permutation=[4,3,2,1,0]}", {{"f32[2,3,4,5,6]"}, {"i32[3,1,17,2,19]"}});
  add(all, "concat{axis=1}", {{"f32[2,3,5]", "f32[2,4,5]"}, {"f16[3,8,8]", "f16[3,16,8]", "f16[3,1,8]"}, {"f32[2,3,4,5]", "f32[2,6,4,5]"}});
  add(all, "concat{axis=-1}", {{"f32[7]", "f32[0]", "f32[9]"}, {"i32[5,3]", "i32[5,2]"}, {"bool[2,2]", "bool[2,1]"}});
  add(all, "slice{start=[1,2] size=[3,4]}", {{"f32[5,7]"}, {"f16[4,6]"}, {"i64[9,6]"}});
  add(all, "slice{start=[6,0] size=[4,8] stride=[-2,1]}", {{"f32[7,8]"}, {"u8[7,8]"}});
  add(all, "slice{start=[-1,-2] size=[6,9] mode=fill}", {{"f32[4,5]", "f32[1]"}, {"f16[4,5]", "f16[]"}, {"f32[3,4]"}, {"bool[4,4]"}});
  add(all, "slice{start=[0,-1,0,0] size=[2,5,4,6] mode=fill}", {{"f32[2,3,4,6]"}});
  add(all, "slice{start=[-3,-5] size=[11,16] mode=reflect}", {{"f32[4,5]"}, {"i32[7,1]"}});
  add(all, "slice{start=[-3,2] size=[11,16] mode=wrap}", {{"f16[4,5]"}});
  add(all, "slice{start=[-3,2] size=[11,16] stride=[1,-1] mode=clamp}", {{"f32[4,5]"}});
  return all;
}

OperatorCases pointwise() {
  OperatorCases all{"Pointwise", {}};
  for (const std::string type : {"f32", "f16", "bf16", "i32", "i64", "i8", "u8"}) {
    add(all, "pointwise{expr=\"mul(x0,x1);add(t0,x2);max(t1,0)\"}",
        {{type + "[5,7]", type + "[5,7]", type + "[7]"}, {type + "[4,64]", type + "[4,1]", type + "[64]"}, {type + "[2,3,4,8]", type + "[3,1,1]", type + "[1]"}});
  }
  for (const std::string type : {"f32", "f16", "bf16"}) {
    add(all, "pointwise{expr=\"gelu_erf(x0);sigmoid(t0);tanh(t1);exp(t2);clip(t3,0.5,2)\"}", {{type + "[1]"}, {type + "[1031]"}, {type + "[8,16,4,4]"}});
    add(all, "pointwise{expr=\"less(x0,x1);select(t0,x0,x1)\"}", {{type + "[64]", type + "[64]"}});
  }
  add(all, "pointwise{expr=\"greater(x0,x1)\"}", {{"f32[33,3]", "f32[3]"}, {"i64[16]", "i64[16]"}});
  add(all, "pointwise{expr=\"and(x0,x1);not(t0)\"}", {{"bool[65]", "bool[65]"}, {"bool[4,1]", "bool[1,8]"}});
  add(all, "pointwise{expr=\"cast.f16(x0)\"}", {{"f32[4096]"}, {"i32[77]"}, {"bool[16]"}, {"bf16[9]"}});
  add(all, "pointwise{expr=\"mul(x0,100);cast.i8(t0)\"}", {{"f32[513]"}, {"f16[128]"}});
  add(all, "pointwise{expr=\"cast.f32(x0);mul(t0,0.5);cast.i64(t1)\"}", {{"i64[65]"}, {"u8[32]"}});
  add(all, "pointwise{expr=\"cast.bool(x0)\"}", {{"f32[17]"}, {"i64[17]"}});
  add(all, "pointwise{expr=\"cast.f8e4m3(x0);cast.f32(t0)\"}", {{"f32[600]"}});
  add(all, "pointwise{expr=\"floor_div(x0,x1);mod(x0,x1);add(t0,t1);fmod(x0,x1);add(t2,t3);pow(x1,2);add(t4,t5)\"}", {{"i32[64]", "i32[64]"}});
  add(all, "pointwise{expr=\"fma(x0,x1,x2)\"}", {{"f32[0,4]", "f32[4]", "f32[1]"}, {"f32[3,1,5]", "f32[1,4,1]", "f32[2,1,1,1]"}});
  return all;
}

}  // namespace

ops::TensorType parseType(const std::string& text) {
  const auto bracket = text.find('[');
  ops::TensorType type{parseDataType(text.substr(0, bracket)), {}, std::nullopt};
  TextReader in(text.substr(bracket), "type of a case");
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
    text += fmt::format("input %x{} : {}\n", i, c.inputs[i]);
    names += fmt::format("{}%x{}", i == 0 ? "" : ", ", i);
  }
  const auto outputs = op.infer("case", types);
  std::string results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results += fmt::format("{}%y{} : {}{}", i == 0 ? "" : ", ", i, name(outputs[i].dtype), tenon::text(outputs[i].shape));
  }
  text += fmt::format("{} = {}({}) \"op\" from(\"op\")\n", results, c.op, names);
  for (size_t i = 0; i < outputs.size(); ++i) text += fmt::format("output %y{}\n", i);
  return text + "}";
}

std::vector<OperatorCases> operatorCases() { return {movement(), pointwise()}; }

std::vector<OperatorCase> speedCases() {
  return {
      {"pointwise{expr=\"relu(x0)\"}", {"f32[67108864]"}},
      {"pointwise{expr=\"relu(x0)\"}", {"f16[67108864]"}},
      {"pointwise{expr=\"add(x0,x1);gelu_erf(t0)\"}", {"f16[8192,4096]", "f16[4096]"}},
      {"pointwise{expr=\"add(x0,x1);relu(t0)\"}", {"f16[128,256,56,56]", "f16[128,256,56,56]"}},
      {"transpose{permutation=[1,0]}", {"f32[8192,8192]"}},
      {"transpose{permutation=[1,0]}", {"f16[8192,8192]"}},
      {"transpose{permutation=[0,2,1,3]}", {"f16[32,512,16,64]"}},
      {"transpose{permutation=[0,2,3,1]}", {"f16[128,256,56,56]"}},
      {"transpose{permutation=[0,2,3,1]}", {"f32[128,3,224,224]"}},
      {"slice{start=[0,16] size=[8192,4064]}", {"f16[8192,4096]"}},
      {"concat{axis=1}", {"f16[128,128,28,28]", "f16[128,128,28,28]"}},
  };
}

}  // namespace tenon::test
