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
  // Whole packs: tiles of half types, and planes that become neighbours.
  add(all, "transpose{permutation=[1,0]}", {{"f16[72,136]"}, {"bf16[64,64]"}, {"f16[8,200]"}, {"f16[40,16]"}});
  add(all, "transpose{permutation=[0,2,1]}", {{"f16[3,40,200]"}, {"bf16[2,16,72]"}});
  add(all, "transpose{permutation=[0,2,3,1]}", {{"f16[2,3,8,16]"}, {"f32[2,4,4,5]"}, {"f32[3,2,6,2]"}, {"f16[1,4,2,4]"}, {"i8[2,3,4,4]"}});
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
    for (const std::string f : {"gelu_erf(x0)", "gelu_tanh(x0)", "tanh(x0)", "exp(x0)", "sigmoid(x0)", "mul(x0,0.01);tanh(t0)", "mul(x0,9);sigmoid(t0)"}) {
      add(all, "pointwise{expr=\"" + f + "\"}", {{type + "[2001]"}});
    }
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
  for (const std::string type : {"f32", "f16", "i32"}) {
    add(all, "multi_pointwise{expr=\"mul(x0,x1);add(t0,x2);max(t1,0)\" results=[2,0]}",
        {{type + "[5,7]", type + "[5,7]", type + "[7]"}, {type + "[4,64]", type + "[4,1]", type + "[64]"}, {type + "[2,3,4,8]", type + "[3,1,1]", type + "[1]"}});
  }
  add(all, "multi_pointwise{expr=\"cast.f32(x0);mul(t0,t0);greater(t1,x1);cast.i8(t1)\" results=[1,2,3]}", {{"f16[1031]", "f32[1]"}, {"f16[0,4]", "f32[4]"}});
  add(all, "pointwise{expr=\"fma(x0,x1,x2)\"}", {{"f32[0,4]", "f32[4]", "f32[1]"}, {"f32[3,1,5]", "f32[1,4,1]", "f32[2,1,1,1]"}});
  return all;
}

const std::vector<std::string> kFloats{"f32", "f16", "bf16"};

OperatorCases reduction() {
  OperatorCases all{"Reduction", {}};
  for (const std::string op : {"sum", "avg", "max", "min"}) {
    add(all, "reduce{op=" + op + " axes=[1]}", {{"f32[3,5]"}, {"f32[7,1031]"}, {"f16[2,4099]"}, {"i32[5,33]"}, {"f32[1,70001]"}});
    add(all, "reduce{op=" + op + " axes=[0]}", {{"f32[130,67]"}, {"f16[513,8]"}, {"f32[9000,33]"}});
  }
  add(all, "reduce{op=avg axes=[2,3] keepDims=true}", {{"f32[2,5,7,7]"}, {"f16[3,64,14,14]"}, {"bf16[1,1,1,1]"}, {"f32[1,2,64,64]"}});
  // Packs of channels: one, some, many of them, split, and channels that are no whole packs.
  for (const std::string op : {"avg", "max"}) {
    add(all, "reduce{op=" + op + " axes=[2,3] keepDims=true}",
        {{"f16[1,8,112,111]"}, {"f16[1,32,112,112]"}, {"f16[2,72,14,13]"}, {"f32[1,33792,1,3]"}, {"bf16[3,20,5,5]"}, {"i8[2,48,3,3]"}});
    add(all, "reduce{op=" + op + " axes=[2,3]}", {{"f16[2,1155,7,7]"}, {"f32[5,9,22,23]"}, {"f16[300,3,4,4]"}, {"i32[3,100,2,2]"}});
  }
  // Scalar work in front: a warp, a block, columns, all of them split; broadcast operands on either side.
  for (const std::string op : {"sum", "avg", "max", "min"}) {
    const std::string expr = "pointwise_reduce{expr=\"sub(x0,x1);mul(t0,t0)\" op=" + op;
    add(all, expr + " axes=[1]}", {{"f32[7,131]", "f32[131]"}, {"f16[2,4099]", "f16[2,1]"}, {"f32[1,70001]", "f32[1,1]"}, {"f32[300,1031]", "f32[1031]"}});
    add(all, expr + " axes=[0]}", {{"f32[130,67]", "f32[67]"}, {"f16[513,40]", "f16[513,1]"}, {"f32[4000,33]", "f32[4000,33]"}});
  }
  add(all, "pointwise_reduce{expr=\"mul(x0,x1);exp(t0)\" op=avg axes=[2,3] keepDims=true}", {{"f32[2,5,7,7]", "f32[5,1,1]"}, {"f16[2,16,12,12]", "f16[2,16,12,12]"}});
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
    add(all, "softmax{axis=-1}", {{t + "[1]"}, {t + "[3,5]"}, {t + "[9,128]"}, {t + "[2,4,331]"}, {t + "[3,1000]"}, {t + "[2,5003]"}, {t + "[17,384]"}, {t + "[3,256]"}, {t + "[3,512]"}, {t + "[3,1032]"}, {t + "[2,16384]"}});
  }
  add(all, "softmax{axis=1}", {{"f32[2,7,33]"}, {"f16[2,19,4,5]"}, {"f32[0,4]"}, {"f32[2,1030,3]"}});
  return all;
}

OperatorCases normalization() {
  OperatorCases all{"Normalization", {}};
  for (const auto& t : kFloats) {
    add(all, "normalization{axes=[-1]}", {{t + "[3,7]", t + "[7]", t + "[7]"}, {t + "[5,768]", t + "[768]", t + "[768]"}, {t + "[2,3,4099]", t + "[4099]", t + "[4099]"}, {t + "[1030,64]", t + "[64]", t + "[64]"}, {t + "[2,4096]", t + "[4096]", t + "[4096]"}});
  }
  add(all, "normalization{axes=[1]}", {{"f16[1025,512]", "f32[512]", "f32[512]"}, {"f32[1024,200]", "f32[200]", "f32[200]"}});
  add(all, "normalization{axes=[2,3]}", {{"f32[2,5,7,9]", "f32[1,5,1,1]", "f32[1,5,1,1]"}, {"f16[2,3,40,41]", "f16[1,3,1,1]", "f16[1,3,1,1]"}});
  add(all, "normalization{axes=[2,3]}", {{"f32[2,3,40,40]", "f32[1,3,1,1]", "f32[1,3,1,1]"}, {"f16[2,5,36,36]", "f32[1,5,1,1]", "f32[1,5,1,1]"}});
  for (const auto& t : kFloats) {
    add(all, "normalization{axes=[-1] epsilon=0.01 centered=false}",
        {{t + "[3,7]", t + "[7]", t + "[1]"}, {t + "[5,768]", t + "[768]", t + "[768]"}, {t + "[2,3,4099]", t + "[4099]", t + "[1]"},
         {t + "[3,4096]", "f32[4096]", "f32[4096]"}, {t + "[65,31]", "f32[31]", "f32[1]"}});
  }
  add(all, "normalization{axes=[2,3] groups=2 centered=false}", {{"f32[1,8,40,40]", "f32[1,8,1,1]", "f32[1,8,1,1]"}});
  add(all, "normalization{axes=[2,3] groups=2}", {{"f32[1,8,96,96]", "f32[1,8,1,1]", "f32[1,8,1,1]"}, {"f16[2,32,12,16]", "f16[1,32,1,1]", "f16[1,32,1,1]"}});
  add(all, "normalization{axes=[2,3] groups=4}", {{"f32[2,12,5,7]", "f32[1,12,1,1]", "f32[1,12,1,1]"}, {"f32[2,12,20,9]", "f32[1,4,1,1]", "f32[1,4,1,1]"}});
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
      {{"f32[0,8]", "f32[8]", "f32[8]", "f32[0,8]"}, {"f16[1025,512]", "f32[512]", "f32[512]", "f16[1025,512]"},
       {"f16[2049,320]", "f16[320]", "f16[320]", "f16[2049,320]"},
       {"f32[2,3,5,8]", "f32[8]", "f32[8]", "f32[2,3,5,8]"}});
  add(all, "normalization{axes=[2,3] skip=true keepSum=true}",
      {{"f32[2,5,7,9]", "f32[1,5,1,1]", "f32[1,5,1,1]", "f32[2,5,7,9]"},
       {"f16[2,3,40,40]", "f16[1,3,1,1]", "f16[1,3,1,1]", "f16[2,3,40,40]"}});
  add(all, "normalization{axes=[2,3] groups=2 skip=true}",
      {{"f32[1,8,96,96]", "f32[1,8,1,1]", "f32[1,8,1,1]", "f32[1,8,96,96]"}});
  add(all, "normalization{axes=[1,2] epsilon=0.001}", {{"f32[3,20,8]", "f32[20,8]", "f32[1]"}, {"f32[0,4,4]", "f32[1]", "f32[1]"}});
  return all;
}

OperatorCases gather() {
  OperatorCases all{"Gather", {}};
  const auto one = [&](const std::string& op, const std::vector<std::string>& inputs, int64_t limit) { all.cases.push_back({op, inputs, limit}); };
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
    add(all, "resize{mode=nearest coordinates=" + coordinates + " rounding=half_down shape=[1,3,10,7]}", {{"f32[1,3,5,6]"}, {"i64[1,3,11,3]"}});
    add(all, "resize{mode=linear coordinates=" + coordinates + " shape=[2,3,11,13]}", {{"f32[2,3,5,7]"}, {"f16[2,3,16,4]"}});
    add(all, "resize{mode=linear coordinates=" + coordinates + " shape=[2,8,11,13]}", {{"f16[2,8,5,7]"}, {"f32[2,8,20,6]"}});
    add(all, "resize{mode=linear coordinates=" + coordinates + " shape=[2,3,8,12]}", {{"f16[2,3,4,6]"}, {"f32[2,3,8,5]"}, {"u8[2,3,3,12]"}});
    add(all, "resize{mode=nearest coordinates=" + coordinates + " rounding=floor shape=[1,16,10,7]}", {{"f16[1,16,5,6]"}, {"i8[1,16,11,3]"}});
    add(all, "resize{mode=cubic coordinates=" + coordinates + " shape=[1,2,9,10]}", {{"f32[1,2,5,5]"}});
  }
  add(all, "resize{mode=linear coordinates=half_pixel shape=[1,2,3,4,5]}", {{"f32[1,2,6,3,10]"}});
  add(all, "resize{mode=cubic excludeOutside=true coordinates=half_pixel shape=[1,1,7,7] scales=[1,1,1.75,1.75]}", {{"f32[1,1,4,4]"}});
  add(all, "resize{mode=linear shape=[9]}", {{"u8[4]"}, {"f32[1]"}});
  return all;
}

OperatorCases lines() {
  OperatorCases all{"Lines", {}};
  add(all, "topk{k=3}", {{"f32[3]"}, {"f32[1,5000]"}, {"f32[4,17]"}, {"f16[2,1001]"}, {"i32[3,100]"}, {"i64[2,5,300]"}});
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
  const auto one = [&](const std::string& op, const std::vector<std::string>& inputs) { all.cases.push_back({op, inputs, 0, true, 0.02}); };
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

// Products with one constant matrix: rows that are no whole packs, both layouts of weights, epilogues of transformers.
OperatorCases products() {
  OperatorCases all{"Products", {}};
  const auto constant = [&](const std::string& op, const std::vector<std::string>& inputs) { all.cases.push_back({op, inputs, 0, false, 0, true}); };
  for (const std::string t : {"f16", "bf16"}) {
    constant("matmul", {t + "[100,200]", t + "[200,104]"});
    constant("matmul{transposeB=true epilogue=\"add(x0,x1);gelu_erf(t0)\"}", {t + "[2,17,520]", t + "[72,520]", t + "[72]"});
  }
  constant("matmul{epilogue=\"add(x0,x1);add(t0,x2)\"}", {"f16[3,43,136]", "f16[136,40]", "f16[40]", "f16[3,43,40]"});
  constant("matmul", {"f16[33,77]", "f16[77,35]"});
  constant("matmul{transposeB=true}", {"f16[1,1030]", "f16[130,1030]"});
  constant("matmul{transposeB=true}", {"f16[0,64]", "f16[16,64]"});
  add(all, "matmul", {{"f16[65,64]", "f16[64,65]"}, {"f16[130,1]", "f16[1,8]"}});
  return all;
}

// Depthwise convolutions with constant weights.
OperatorCases depthwise() {
  OperatorCases all{"Depthwise", {}};
  const auto fixed = [&](const std::string& op, const std::vector<std::string>& inputs) { all.cases.push_back({op, inputs, 0, false, 0, true}); };
  // One strip and many, partial strips and tiles, rows of one block and of several, every
  // padding, results and operands of other types; an image of one element; two forms for 5x5.
  const auto square = [&](const std::string& type, const std::vector<int>& x, int kernel, int stride, const std::string& pads,
                             const std::string& more = "", const std::vector<std::string>& operands = {}) {
    std::vector<std::string> inputs{fmt::format("{}[{}]", type, fmt::join(x, ",")), fmt::format("{}[{},1,{},{}]", type, x[1], kernel, kernel)};
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
  square("bf16", {3, 200, 13, 5}, 3, 1, "prePadding=[2,0] postPadding=[0,2]", " hasBias=true epilogue=\"relu(x0)\"", {"bf16[200]"});
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
  fixed("convolution{groups=8 strides=[2,2] prePadding=[1,1] postPadding=[1,1]}", {"bf16[3,8,11,12]", "bf16[8,1,3,5]"});
  fixed("convolution{groups=8 strides=[1,2] prePadding=[1,1] postPadding=[1,1]}", {"f16[3,8,11,12]", "f16[8,1,3,3]"});
  return all;
}

OperatorCases contractions() {
  OperatorCases all{"Contractions", {}};
  for (const std::string t : {"f32", "f16", "bf16", "i8"}) {
    add(all, "matmul", {{t + "[1,7]", t + "[7,5]"}, {t + "[33,65]", t + "[65,70]"}, {t + "[3,1,9,20]", t + "[2,20,11]"}});
    add(all, "matmul{transposeA=true transposeB=true}", {{t + "[40,35]", t + "[33,40]"}});
    add(all, "matmul{transposeB=true}", {{t + "[1,70]", t + "[33,70]"}, {t + "[1,5,64]", t + "[17,64]"}, {t + "[8,37]", t + "[1,37]"}});
    add(all, "convolution", {{t + "[3,24,1,1]", t + "[10,24,1,1]"}, {t + "[1,3,4,5]", t + "[9,3,4,5]"}});
    add(all, "convolution{prePadding=[1,1] postPadding=[1,1]}", {{t + "[2,5,9,11]", t + "[7,5,3,3]"}});
    add(all, "convolution{strides=[2,2] groups=6 hasBias=true prePadding=[1,0] postPadding=[0,1]}", {{t + "[1,6,9,9]", t + "[6,1,3,3]", t + "[6]"}});
  }
  for (const auto& t : kFloats) {
    add(all, "matmul{transposeB=true epilogue=\"add(x0,x1);relu(t0)\"}", {{t + "[2,17,40]", t + "[2,19,40]", t + "[19]"}});
    add(all, "convolution{hasBias=true epilogue=\"add(x0,x1);relu(t0)\"}", {{t + "[1,3,8,8]", t + "[4,3,3,3]", t + "[4]", t + "[1,4,6,6]"}});
    add(all, "deconvolution{strides=[2,2] prePadding=[1,1] postPadding=[1,0]}", {{t + "[1,4,5,6]", t + "[4,3,3,3]"}});
  }
  const auto fixed = [&](const std::string& op, const std::vector<std::string>& inputs) { all.cases.push_back({op, inputs, 0, false, 0, true}); };
  for (const auto& t : kFloats) {
    fixed("convolution{groups=16 prePadding=[1,1] postPadding=[1,1]}", {t + "[2,16,9,7]", t + "[16,1,3,3]"});
    fixed("convolution{groups=8 strides=[2,2] prePadding=[2,2] postPadding=[2,2] hasBias=true epilogue=\"relu(x0);mul(t0,x1)\"}",
              {t + "[1,8,12,11]", t + "[8,1,5,5]", t + "[8]", t + "[8,1,1]"});
  }
  // Images of few channels.
  for (const std::string t : {"f16", "bf16"}) {
    fixed("convolution{strides=[2,2] prePadding=[3,3] postPadding=[3,3] hasBias=true epilogue=\"relu(x0)\"}",
              {t + "[2,3,33,38]", t + "[16,3,7,7]", t + "[16]"});
    fixed("convolution{prePadding=[1,1] postPadding=[1,1] hasBias=true}", {t + "[1,1,14,9]", t + "[8,1,3,3]", t + "[8]"});
    fixed("convolution{strides=[2,2] prePadding=[1,1] postPadding=[1,1] epilogue=\"relu(x0)\"}", {t + "[1,3,34,70]", t + "[24,3,3,3]"});
    fixed("convolution{strides=[4,4] prePadding=[2,2] postPadding=[2,2] hasBias=true}", {t + "[1,3,47,50]", t + "[96,3,11,11]", t + "[96]"});
    fixed("convolution{strides=[3,1] prePadding=[0,1] postPadding=[2,0]}", {t + "[3,4,29,18]", t + "[40,4,4,5]"});
    // Of f32, rounded on the way; tiles inside of which nothing is padding, too.
    const auto rounded = [&](const std::string& cast, const std::string& convolution, const std::vector<std::string>& inputs) {
      const std::string operands = inputs.size() > 2 ? "[-1,1,2]" : "[-1,1]";
      fixed("composite{parts=[{pointwise{expr=\"" + cast + "\"} [0]},{" + convolution + " " + operands + "}] outputs=[1]}", inputs);
    };
    const std::string held = t == "f16" ? "clip(x0,-65504,65504);cast.f16(t0)" : "cast.bf16(x0)";
    rounded(held, "convolution{strides=[2,2] prePadding=[1,1] postPadding=[1,1] hasBias=true epilogue=\"relu(x0)\"}",
            {"f32[3,3,70,134]", t + "[16,3,3,3]", t + "[16]"});
    rounded(held, "convolution{strides=[2,2] prePadding=[3,3] postPadding=[3,3] hasBias=true epilogue=\"relu(x0)\"}",
            {"f32[1,3,69,141]", t + "[64,3,7,7]", t + "[64]"});
    rounded("cast." + t + "(x0)", "convolution{prePadding=[1,1] postPadding=[1,1]}", {"f32[2,1,27,53]", t + "[8,1,3,3]"});
    rounded(held, "convolution{strides=[3,1] prePadding=[0,1] postPadding=[2,0]}", {"f32[1,4,59,58]", t + "[40,4,4,5]"});
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
  add(all, "matmul{transposeB=true epilogue=\"add(x0,x1);mul(t0,x2)\"}", {{"f16[3,40]", "f16[19,40]", "f16[19]", "f16[3,19]"}, {"f32[1,40]", "f32[19,40]", "f32[1]", "f32[1,19]"}});
  add(all, "convolution{hasBias=true epilogue=\"relu(x0);mul(t0,x1)\"}", {{"f16[2,16,1,1]", "f16[8,16,1,1]", "f16[8]", "f16[2,8,1,1]"}});
  add(all, "convolution{dilations=[2] groups=2}", {{"f32[2,4,20]", "f32[6,2,3]"}});
  add(all, "convolution", {{"f32[1,2,4,5,6]", "f32[3,2,2,2,2]"}, {"f32[0,2,5,5]", "f32[3,2,3,3]"}, {"f32[1,64,7,7]", "f32[32,64,1,1]"}});
  add(all, "deconvolution{groups=2 dilations=[2,1] hasBias=true}", {{"f32[2,4,3,3]", "f32[4,3,2,3]", "f32[6]"}});
  add(all, "convolution{epilogue=\"cast.f32(x0);mul(t0,0.01)\"}", {{"i8[1,4,5,5]", "i8[4,4,3,3]"}});
  return all;
}

// A head's width, rows and keys at, below and past the tiles of the tensor cores' kernel; what it refuses; every kind of mask.
OperatorCases attention() {
  OperatorCases all{"Attention", {}};
  add(all, "attention{heads=2 scale=0.125 packed=true}", {{"f16[2,37,384]"}, {"bf16[1,37,384]"}, {"f16[1,1,384]"}, {"f16[1,128,384]"}, {"f16[1,197,96]"}});
  add(all, "attention{heads=2 scale=0.125 packed=true}",
      {{"f16[1,15,384]"}, {"bf16[1,17,384]"}, {"bf16[1,197,384]"}, {"f16[1,208,384]"}, {"f16[1,255,384]"}});
  add(all, "attention{heads=4 scale=0.125 packed=true}", {{"f16[33,66,768]"}});
  add(all, "attention{heads=2 scale=0.125 packed=true hasMask=true}",
      {{"f16[1,197,384]", "f16[1,2,197,197]"}, {"bf16[2,15,384]", "bf16[1,1,1,15]"}, {"f16[1,130,384]", "f16[1,1,130,1]"},
       {"bf16[1,255,384]", "bf16[1,2,1,255]"}});
  add(all, "attention{scale=-0.5}", {{"f16[2,129,64]", "f16[2,70,64]", "f16[2,70,64]"}, {"bf16[1,40,32]", "bf16[1,33,32]", "bf16[1,33,32]"}});
  add(all, "attention{heads=2 scale=0.125 packed=true hasMask=true}", {{"f16[2,66,384]", "f16[2,1,1,66]"}, {"bf16[2,19,384]", "bf16[1,1,19,19]"}});
  add(all, "attention{scale=0.3}", {{"f16[2,3,20,16]", "f16[2,3,31,16]", "f16[2,3,31,16]"}, {"f16[1,300,40]", "f16[1,7,40]", "f16[1,7,40]"},
                                    {"f16[3,8]", "f16[130,8]", "f16[130,8]"}});
  add(all, "attention{heads=3 scale=0.1 hasMask=true}", {{"f16[2,17,192]", "f16[2,130,192]", "f16[2,130,192]", "f16[2,3,17,130]"},
                                                         {"f16[2,16,192]", "f16[2,33,192]", "f16[2,33,192]", "f16[2,1,16,1]"}});
  add(all, "attention{scale=-2 hasMask=true}", {{"bf16[2,5,128]", "bf16[2,70,128]", "bf16[2,70,128]", "bf16[2,1,70]"}});
  add(all, "attention{scale=0.05}", {{"f16[2,33,256]", "f16[2,40,256]", "f16[2,40,256]"}, {"f16[1,20,200]", "f16[1,20,200]", "f16[1,20,200]"},
                                     {"f16[2,9,12]", "f16[2,7,12]", "f16[2,7,12]"}, {"f16[2,9,16]", "f16[2,7,16]", "f16[2,7,24]"},
                                     {"f16[2,9,16]", "f16[2,0,16]", "f16[2,0,16]"}, {"f16[2,0,16]", "f16[2,5,16]", "f16[2,5,16]"},
                                     {"f16[3,1,64]", "f16[3,700,64]", "f16[3,700,64]"}, {"f32[1,35,32]", "f32[1,140,32]", "f32[1,140,32]"},
                                     {"f16[2,5,272]", "f16[2,5,272]", "f16[2,5,272]"}});
  add(all, "attention{heads=2 scale=0.125 packed=true hasMask=true emptyIsZero=true}", {{"f32[2,37,96]", "f32[37,37]"}});
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
    text += c.constantWeights && i == 1 ? fmt::format("const %x1 : {} = random(9)\n", c.inputs[i]) : fmt::format("input %x{} : {}\n", i, c.inputs[i]);
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

std::vector<OperatorCases> operatorCases() {
  return {movement(), pointwise(), reduction(), softmax(), normalization(), gather(), windows(), resize(), lines(), narrow(), depthwise(), contractions(),
          products(), attention()};
}

}  // namespace tenon::test
