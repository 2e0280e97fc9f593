// Any text as a gate: refused as a usage error, or a gate that says the same when it is read again and can be asked.
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "wdelta.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto gate = wdelta::ParseGate(text);
  if (!gate.ok()) {
    if (gate.error().kind != wdelta::ErrorKind::kUsage) std::abort();
    return 0;
  }
  if (!std::isfinite(gate->limit) || gate->text != text) std::abort();
  wdelta::StatsReport report;
  for (const char* name : {"model.embed_tokens.weight", "model.layers.0.mlp.experts.3.up_proj.weight", "a"}) {
    wdelta::TensorStats tensor;
    tensor.name = name;
    tensor.elements = 100;
    tensor.elements_changed = 7;
    tensor.place = wdelta::PlaceOf(name);
    tensor.tally.emplace();
    report.tensors.push_back(tensor);
  }
  const auto answer = wdelta::CheckGate(*gate, report);
  if (!answer.ok() && answer.error().kind == wdelta::ErrorKind::kIntegrity) std::abort();
  if (answer.ok() && answer->gate.text != text) std::abort();
  return 0;
}
