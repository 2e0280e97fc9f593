// The safetensors file: eight bytes of length, a JSON header of that length, and the tensors' bytes, to the last byte
// of the file. The reader is strict: it accepts a file only if every rule of the format holds, and refuses with a
// message that names the tensor and the rule. It also refuses what the format's text forbids and the reference reader
// lets pass: duplicate names and keys of any kind, and a tensor entry that is no object.
//
// A header may have 100,000,000 bytes and come from an enemy: reading one costs at most 64 MiB plus twice its length,
// and less than a second. For that bound the shapes, each counted once, may have two million dimensions together plus
// one for each sixteen bytes of header; no other limit is set to rank or number of tensors.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/dtype.h"
#include "core/bytes.h"
#include "core/file.h"

namespace wdelta {

inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // of the JSON, as the reference has it

// One tensor of a header; a view that lives as long as the header.
struct TensorEntry {
  std::string_view name;
  Dtype dtype = Dtype::kU8;
  std::span<const uint64_t> shape;
  uint64_t begin = 0, end = 0;  // where its bytes lie, counted from the first byte after the header
};

// Movable, with all its views staying valid; not to be copied.
class SafetensorsHeader {
 public:
  // Reads and checks the header of an open file. Fails with kIntegrity; the message names file, tensor and rule.
  static Result<SafetensorsHeader> Read(const File& file);
  // The same for bytes in memory: `bytes` is the length field and the JSON, `file_bytes` the size of the whole file.
  static Result<SafetensorsHeader> Parse(Bytes bytes, uint64_t file_bytes, const std::string& path);

  SafetensorsHeader(SafetensorsHeader&&) noexcept = default;
  SafetensorsHeader& operator=(SafetensorsHeader&&) noexcept = default;

  const Bytes& bytes() const { return bytes_; }  // length field and JSON: data begin at bytes().size()
  size_t tensor_count() const { return entries_.size(); }
  TensorEntry tensor(size_t index) const;  // in the order of their data, then of the header
  // A value of "__metadata__". It is found by reading the metadata again: for many keys use ForEachMetadata.
  std::optional<std::string> Metadata(std::string_view key) const;
  // Calls visit(key, value) for each pair of "__metadata__" in the order of the header, until it returns false.
  void ForEachMetadata(const std::function<bool(std::string_view key, std::string_view value)>& visit) const;

 private:
  friend class SafetensorsParser;

  // Small, because a hostile header may hold two million of them. The name is a view into bytes_ or, if it had escapes,
  // into unescaped_names_; both keep their place when the header is moved.
  struct Entry {
    const char* name;
    uint64_t begin, end;
    uint32_t name_bytes;
    uint32_t order;     // in the header
    uint32_t shape_at;  // in shapes_, where equal shapes share a place
    uint32_t rank : 24;
    uint32_t dtype : 8;
  };
  static_assert(sizeof(Entry) <= 40);

  SafetensorsHeader() = default;

  Bytes bytes_;
  std::vector<Entry> entries_;
  std::vector<uint64_t> shapes_;
  std::vector<std::string> unescaped_names_;  // long ones alone, short ones many to a string
  size_t metadata_at_ = 0;                    // in bytes_, of the value of "__metadata__"; 0: there is none
};

// What a new file shall contain; the data follow in the order of `tensors`.
struct NewTensor {
  std::string name;
  Dtype dtype = Dtype::kU8;
  std::vector<uint64_t> shape;
};

// The length field and the JSON header of such a file, padded with spaces to a multiple of eight bytes. Names and
// metadata are escaped. Fails with kUsage where our own reader would refuse the file: a header that is too long, a
// tensor of a sub-byte type that does not end on a byte, an overflow, a name twice, text that is no UTF-8.
Result<Bytes> EncodeSafetensorsHeader(std::span<const NewTensor> tensors,
                                      std::span<const std::pair<std::string, std::string>> metadata);

// The bytes of a tensor, or nullopt on overflow or when it does not end on a byte. Multiplied from left to right and
// checked before a zero is looked at, as the reference does.
std::optional<uint64_t> TensorBytes(Dtype dtype, std::span<const uint64_t> shape);

}  // namespace wdelta
