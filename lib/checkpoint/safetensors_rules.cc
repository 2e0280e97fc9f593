// The arithmetic of a safetensors header: how many bytes a tensor needs, and that the tensors fill the file exactly.
#include <algorithm>

#include "checkpoint/safetensors_parser.h"

namespace wdelta {

namespace {

// The bits of a tensor. False on overflow, even where a later dimension is zero: the reference multiplies this way.
bool TensorBits(Dtype dtype, std::span<const uint64_t> shape, uint64_t* bits) {
  *bits = 1;
  for (const uint64_t dimension : shape) {
    if (!CheckedMultiply(*bits, dimension, bits)) return false;
  }
  return CheckedMultiply(*bits, DtypeBits(dtype), bits);
}

}  // namespace

std::optional<uint64_t> TensorBytes(Dtype dtype, std::span<const uint64_t> shape) {
  uint64_t bits;
  if (!TensorBits(dtype, shape, &bits) || bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

Result<> SafetensorsParser::CheckSize(const SafetensorsHeader::Entry& entry) {
  const auto dtype = static_cast<Dtype>(entry.dtype);
  uint64_t bits;
  if (!TensorBits(dtype, std::span(header_.shapes_).subspan(entry.shape_at, entry.rank), &bits)) {
    return Refuse("size of shape and dtype overflows 64 bits");
  }
  if (bits % 8 != 0) {
    return Refuse("shape has " + std::to_string(bits) + " bits of dtype " + std::string(DtypeName(dtype)) +
                  ", which do not end on a byte");
  }
  if (entry.end < entry.begin) {
    return Refuse("data_offsets end at " + std::to_string(entry.end) + ", before they begin at " +
                  std::to_string(entry.begin));
  }
  if (bits / 8 != entry.end - entry.begin) {
    const std::string needed = std::to_string(bits / 8), spanned = std::to_string(entry.end - entry.begin);
    return Refuse("shape needs " + needed + " bytes, data_offsets span " + spanned, needed, spanned);
  }
  return {};
}

// Sorts the tensors by their data and checks that each begins where the one before ends, from the first byte after the
// header to the last of the file.
Result<> SafetensorsParser::CheckOrder() {
  using Entry = SafetensorsHeader::Entry;
  std::vector<Entry>& entries = header_.entries_;
  const auto before = [](const Entry& a, const Entry& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    return a.end != b.end ? a.end < b.end : a.order < b.order;
  };
  if (!std::is_sorted(entries.begin(), entries.end(), before)) std::sort(entries.begin(), entries.end(), before);

  uint64_t covered = 0;
  for (const Entry& entry : entries) {
    name_ = {entry.name, entry.name_bytes};
    in_tensor_ = true;
    if (entry.begin != covered) {
      const std::string begin = std::to_string(entry.begin), end = std::to_string(covered);
      return Refuse((entry.begin > covered ? "hole in the data: begins at " : "overlap in the data: begins at ") +
                        begin + ", the data before end at " + end,
                    end, begin);
    }
    covered = entry.end;
  }
  const std::string needed = std::to_string(covered), there = std::to_string(data_bytes_);
  if (covered > data_bytes_) {
    return Refuse("data are cut short: end at " + needed + ", the file has " + there + " bytes of data", needed, there);
  }
  in_tensor_ = false;
  if (covered < data_bytes_) {
    return Refuse("trailing bytes: the last tensor ends at " + needed + ", the file has " + there + " bytes of data",
                  needed, there);
  }
  return {};
}

}  // namespace wdelta
