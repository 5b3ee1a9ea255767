// Recordings of one context: executions that were seen before are replayed instead of launched step by step.
#pragma once

#include <memory>
#include <vector>

#include "runtime/packet.h"
#include "runtime/recording.h"

namespace tenon::runtime {

// Remembers the last few combinations of shapes, memory and addresses. The first execution of one is launched (what is
// loaded lazily then is), the second one recorded, later ones replayed. Where callers have more sets of addresses than
// are remembered, what touches none of them is recorded apart and replayed with any. TENON_CUDA_GRAPH=0 switches this
// off.
class Replays {
 public:
  explicit Replays(Device& device);

  // What is to be done for this execution: replay, when it is not null. Otherwise launch, after record() if `wanted`.
  struct Decision {
    Recording* recording = nullptr;
    bool wanted = false;
  };
  Decision look(const std::shared_ptr<Binding>& binding, void* arena, const ArenaLayout& layout,
                const std::vector<void*>& addresses, StreamHandle stream);
  // For the combination just looked at; null when the work cannot be recorded, which is then not tried again.
  Recording* record(Packet& packet);
  // Of the execution that the packet is about to launch: its steps in runs, of which those without memory of the caller
  // are recorded; null where all are to be launched.
  const std::vector<StepRun>* runs(Packet& packet, const std::shared_ptr<Binding>& binding, void* arena,
                                   const ArenaLayout& layout, StreamHandle stream);
  void forget(const Binding* binding);  // its kernels change
  void clear();                         // the memory changes

 private:
  struct Entry {
    std::shared_ptr<Binding> binding;
    void* arena = nullptr;
    const ArenaLayout* layout = nullptr;  // of the binding
    std::vector<void*> addresses;
    std::unique_ptr<Recording> recording;
    int seen = 0;
    bool refused = false;
    bool isRecorded = false;
  };
  // Of one memory, whatever the addresses of inputs and outputs.
  struct Fixed {
    std::shared_ptr<Binding> binding;
    void* arena = nullptr;
    const ArenaLayout* layout = nullptr;  // of the binding
    std::vector<StepRun> runs;
    int seen = 0;
  };
  std::vector<StepRun> record(Packet& packet, const Binding& binding);
  Recorder* recorder_;          // null: everything is launched
  std::vector<Entry> entries_;  // most recently used first
  std::vector<Fixed> fixed_;    // likewise
  bool isCrowded_ = false;      // there are more sets of addresses than are remembered
};

}  // namespace tenon::runtime
