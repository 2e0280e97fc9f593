// One run over the JSON of a safetensors header: fills a SafetensorsHeader, whose bytes are already there, or says why
// not. Used by SafetensorsHeader alone.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "checkpoint/safetensors.h"
#include "core/json.h"

namespace wdelta {

class SafetensorsParser {
 public:
  // `data_bytes`: how many bytes follow the header in the file.
  SafetensorsParser(const std::string& path, uint64_t data_bytes, SafetensorsHeader* header);

  Result<> Run();

 private:
  Result<> ReadMetadata();
  Result<> ReadTensor();
  Result<> ReadDtype(SafetensorsHeader::Entry* entry);
  Result<> ReadShape(SafetensorsHeader::Entry* entry);
  Result<> ReadOffsets(SafetensorsHeader::Entry* entry);
  Result<> BeginArray();
  // Refuses any other type of the next value of the JSON text.
  Result<> Expect(JsonReader::Type wanted, std::string_view subject);
  Result<> CheckSize(const SafetensorsHeader::Entry& entry);
  Result<> CheckOrder();
  void KeepName(std::string_view key, SafetensorsHeader::Entry* entry);
  void ShareShape(SafetensorsHeader::Entry* entry);

  // An error of the tensor or the part of the header that is being read.
  Error Refuse(const std::string& why, std::string expected = "", std::string found = "") const;
  // The same for what the JSON reader found.
  template <class T>
  Error Explain(const Result<T>& result) const;

  struct ShapePlace {
    uint32_t at = 0, rank = 0;
  };

  const std::string& path_;
  const uint64_t data_bytes_;
  SafetensorsHeader& header_;
  JsonReader json_;
  size_t max_dimensions_;
  bool in_tensor_ = false;
  std::string_view name_;                         // of the tensor that is being read
  std::string_view field_;                        // of the entry that is being read
  std::array<ShapePlace, 1024> recent_shapes_{};  // by hash: models have few shapes and many tensors
};

}  // namespace wdelta
