// The cases of operators that choose among elements, boxes and points, or combine what is chosen.
#include "cuda/operator_cases.h"

namespace tenon::test {

OperatorCases selectionCases() {
  OperatorCases all{"Selection", {}};
  for (const std::string type : {"f32", "f16", "i64", "bool"}) {
    add(all, "nonzero{size=900}", {{type + "[5,401]"}, {type + "[2049]"}, {type + "[0,3]"}});
    add(all, "nonzero{size=3 indexType=i64}", {{type + "[7]"}, {type + "[]"}});
    add(all, "count_nonzero", {{type + "[5,401]"}, {type + "[]"}, {type + "[0,3]"}});
  }
  const auto nms = [&](const std::string& fields, const std::string& boxes, const std::string& scores,
                       const std::string& count) {
    OperatorCase c{"nms{" + fields + "}", {boxes, scores, count + "[]", "f32[]", "f32[]"}};
    c.scalars = {20, 0.5, -0.5};
    all.cases.push_back(c);
  };
  nms("most=40", "f32[2,97,4]", "f32[2,97,3]", "i32");
  nms("most=400 limit=64 indexType=i64", "f32[2,97,3,4]", "f32[2,97,3]", "i64");
  nms("most=40 format=centers", "f16[1,97,4]", "f16[1,97,3]", "i64");
  add(all, "padded_nms{keep=5 overlapThreshold=0.3}",
      {{"f32[2,33,1,4]", "f32[2,33,3]"}, {"f16[2,33,3,4]", "f16[2,33,3]"}, {"f32[1,0,1,4]", "f32[1,0,3]"}});
  add(all, "padded_nms{keep=50 perClass=20 inAll=30 inclusive=true inclusiveOverlap=true agnostic=true keepPerClass=3}",
      {{"f32[2,33,1,4]", "f32[2,33,3]"}});
  for (const std::string op : {"sum", "prod", "max", "min"}) {
    for (const std::string type : {"f32", "f16", "i64", "u8"})
      all.cases.push_back({"scatter_reduce{op=" + op + "}", {type + "[9,3]", "i64[40,3]", type + "[40,3]"}, 9});
  }
  add(all, "scatter_reduce{op=max}", {{"f32[4,3]", "i64[0,3]", "f32[0,3]"}});
  all.cases.push_back({"expert_matmul", {"f32[5,1,8]", "i32[5,2]", "f32[3,8,6]"}, 3});
  all.cases.push_back({"expert_matmul", {"f16[70,2,40]", "i64[70,2]", "f16[4,40,67]"}, 4});
  all.cases.push_back({"expert_matmul", {"bf16[3,1,40]", "i32[3,2]", "bf16[4,40,72]"}, 4});
  add(all, "pillars{pillars=20 points=3 features=9 range=[-0.9,-0.9,-0.9,0.9,0.9,0.9] size=[0.3,0.3,1.8]}",
      {{"f32[2,100,4]", "i32[2]"}});
  return all;
}

OperatorCases drawingCases() {
  OperatorCases all{"Drawing", {}};
  add(all, "random{shape=[5,7]}", {{}});
  return all;
}

}  // namespace tenon::test
