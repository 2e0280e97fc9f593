// Any bytes as the header of a safetensors file. What is accepted must be a partition of the data, and must survive
// being written and read again.
#include <cstdlib>

#include "checkpoint/safetensors.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckRoundTrip(const wdelta::SafetensorsHeader& header, uint64_t data_bytes) {
  std::vector<wdelta::NewTensor> tensors;
  uint64_t covered = 0;
  for (size_t i = 0; i < header.tensor_count(); ++i) {
    const wdelta::TensorEntry entry = header.tensor(i);
    Require(entry.begin == covered && entry.end >= entry.begin);
    Require(wdelta::TensorBytes(entry.dtype, entry.shape) == entry.end - entry.begin);
    covered = entry.end;
    tensors.push_back({std::string(entry.name), entry.dtype, {entry.shape.begin(), entry.shape.end()}});
  }
  Require(covered == data_bytes);
  std::vector<std::pair<std::string, std::string>> metadata;
  header.ForEachMetadata([&](std::string_view key, std::string_view value) {
    metadata.emplace_back(key, value);
    return true;
  });

  auto encoded = wdelta::EncodeSafetensorsHeader(tensors, metadata);
  Require(encoded.ok());
  const uint64_t file_bytes = encoded->size() + data_bytes;
  const auto again = wdelta::SafetensorsHeader::Parse(std::move(*encoded), file_bytes, "again");
  Require(again.ok() && again->tensor_count() == tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    Require(again->tensor(i).name == tensors[i].name && again->tensor(i).begin == header.tensor(i).begin);
  }
  for (const auto& [key, value] : metadata) Require(again->Metadata(key) == value);
}

}  // namespace

// The first two bytes say how much data follow the header; the rest is the JSON.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const uint64_t data_bytes = wdelta::Load<uint16_t>(data);
  wdelta::ByteWriter out;
  out.Fixed<uint64_t>(size - 2);
  out.Raw({data + 2, size - 2});
  const auto header = wdelta::SafetensorsHeader::Parse(out.Take(), 8 + size - 2 + data_bytes, "fuzz");
  if (header.ok()) {
    CheckRoundTrip(*header, data_bytes);
  } else {
    Require(header.error().kind == wdelta::ErrorKind::kIntegrity && header.error().message.starts_with("'fuzz': "));
  }
  return 0;
}
