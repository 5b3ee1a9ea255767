// Execution of programs whose sizes the device computes: phase by phase, with a wait for the sizes between two.
#include <algorithm>

#include "core/error.h"
#include "core/lazy_text.h"
#include "core/storage.h"
#include "runtime/context_state.h"
#include "runtime/stream_facts.h"

namespace tenon::runtime {

bool Context::State::isPhased() const { return !engine->program(profile).cuts.empty(); }

void Context::State::checkPhased(StreamHandle stream) const {
  auto* const facts = dynamic_cast<StreamFacts*>(&engine->device());
  if (facts != nullptr && facts->isCapturing(stream)) {
    throw Unsupported(
        "the stream is being captured, and the engine computes shapes that the host has to read during the execution "
        "(layer '{}'); enqueue it outside of the capture",
        engine->plan().sizes[0].layer);
  }
  const auto& phases = binding->phases();
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto& x = engine->io()[i];
    const auto tensor = static_cast<size_t>(binding->program().ioTensors[i]);
    checkUser(x.isInput || phases.ofTensor[tensor] == 0 || addresses[i] != nullptr || outputAllocators[i] != nullptr,
              "output '{}' has the shape {}, which is known after the execution only, and neither an address nor an "
              "output allocator; setTensorAddress with getMaxOutputSize() bytes, or setOutputAllocator first",
              x.name, text(x.shape));
  }
}

// Waits for the stream: then the sizes of this phase are what the phases before it have computed.
void Context::State::readSizes(int32_t phase, void* arenaData, const ArenaLayout& layout, StreamHandle stream) {
  engine->device().synchronize(stream);
  errors->rethrow();
  const auto& program = binding->program();
  std::vector<std::pair<int32_t, int64_t>> sizes;
  for (size_t i = 0; i < program.sizeTensors.size(); ++i) {
    if (binding->phases().ofSize[i] != phase) continue;
    const int32_t tensor = program.sizeTensors[i];
    const void* const number = binding->addressOf(tensor, arenaData, layout, addresses);
    checkInternal(number != nullptr, "the size '{}' has no address", engine->plan().sizes[i].name);
    sizes.emplace_back(static_cast<int32_t>(i), loadInt(program.tensors[static_cast<size_t>(tensor)].dtype, number, 0));
  }
  shapes.bindSizes(sizes);
  if (binding->configureNext(phase, shapes.symbols())) changed();
}

// Addresses of outputs whose size is known only now.
void Context::State::checkRoom(int32_t phase) const {
  auto* const facts = dynamic_cast<StreamFacts*>(&engine->device());
  for (size_t i = 0; i < addresses.size(); ++i) {
    const int32_t tensor = binding->program().ioTensors[i];
    if (binding->phases().ofTensor[static_cast<size_t>(tensor)] != phase) continue;
    const uint64_t needed = binding->bytes(tensor);
    const uint64_t there = facts == nullptr || needed == 0 ? UINT64_MAX : facts->bytesBehind(addresses[i]);
    checkUser(needed <= there, "output '{}' has the shape {} and needs {} bytes, its address has {}; {}",
              engine->io()[i].name, textOf(binding->dims(tensor)), needed, there,
              outputAllocators[i] != nullptr ? "its allocator has to give as many as it is asked for"
                                             : "give it getMaxOutputSize() bytes, or an output allocator");
  }
}

void Context::State::enqueuePhases(void* arenaData, const ArenaLayout& layout, StreamHandle stream) {
  const int32_t count = binding->phases().count;
  for (int32_t phase = 0; phase < count; ++phase) {
    if (phase != 0) {
      readSizes(phase, arenaData, layout, stream);
      allocateOutputs(stream, phase);
      checkReady(phase);
      checkRoom(phase);
    }
    const auto [first, last] = plan::stepsOf(binding->program(), phase);
    if (first != last) launch(phase, arenaData, layout, stream);
  }
}

}  // namespace tenon::runtime
