// An algorithm selector of the caller, asked about the candidates of a build.
#pragma once

#include <NvInfer.h>

#include "compile/candidate_selector.h"

namespace tenon::api {

namespace nv = nvinfer1;

class AlgorithmSelector final : public compile::CandidateSelector {
 public:
  // `rejectsEmpty`: a node of which nothing is selected ends the build; else any of its candidates may be taken.
  AlgorithmSelector(nv::IAlgorithmSelector& user, bool rejectsEmpty) : user_(user), rejectsEmpty_(rejectsEmpty) {}
  std::vector<size_t> select(const compile::NodeQuestion& question, std::span<const compile::Choice> choices) override;
  void report(std::span<const compile::Taken> taken) override;

 private:
  nv::IAlgorithmSelector& user_;
  bool rejectsEmpty_;
};

}  // namespace tenon::api
