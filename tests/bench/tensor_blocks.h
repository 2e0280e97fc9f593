// Where the tensors of a safetensors file lie, in blocks of 1 MiB as wdelta cuts them. Entries are found by their keys
// alone: good enough for headers that the bench wrote, where no name holds such a key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "workbench.h"

namespace workbench {

constexpr uint64_t kBlock = 1 << 20;

struct TensorBlock {
  uint64_t at, length;  // in the file
  uint64_t in_tensor;   // of its first byte
  uint64_t columns;     // elements in a row of the tensor
};

class HeaderText {
 public:
  explicit HeaderText(const OpenFile& file) {
    uint64_t length = 0;
    file.Read(&length, 8, 0);
    if (length > 100'000'000) Die("this is no safetensors file");
    text_.resize(length);
    file.Read(text_.data(), length, 8);
  }
  bool AllBf16() const { return Occurrences("\"dtype\"") == Occurrences("\"BF16\""); }

  std::vector<TensorBlock> Blocks() const {
    std::vector<TensorBlock> blocks;
    // Within an entry the shape comes before the offsets in every file that the bench sees; columns are only used
    // there.
    size_t shape = 0;
    for (size_t found = text_.find(kOffsets); found != std::string::npos; found = text_.find(kOffsets, found + 1)) {
      const char* cursor = text_.data() + text_.find('[', found) + 1;
      char* rest = nullptr;
      const uint64_t begin = std::strtoull(cursor, &rest, 10);
      const uint64_t end = std::strtoull(rest + std::strspn(rest, ", "), nullptr, 10);
      shape = text_.find("\"shape\"", shape + 1);
      const uint64_t columns = shape < found ? LastNumber(shape) : 1;
      for (uint64_t at = begin; at < end; at += kBlock) {
        blocks.push_back({8 + text_.size() + at, std::min(kBlock, end - at), at - begin, columns});
      }
    }
    return blocks;
  }

 private:
  static constexpr const char* kOffsets = "\"data_offsets\"";

  size_t Occurrences(const std::string& word) const {
    size_t count = 0;
    for (size_t found = text_.find(word); found != std::string::npos; found = text_.find(word, found + 1)) ++count;
    return count;
  }
  // Of the list that follows; 1 for an empty one, a scalar.
  uint64_t LastNumber(size_t from) const {
    const size_t close = text_.find(']', from);
    size_t first = close;
    while (first > from && std::strchr("0123456789 ", text_[first - 1])) --first;
    return std::max<uint64_t>(1, std::strtoull(text_.c_str() + first, nullptr, 10));
  }
  std::string text_;
};

}  // namespace workbench
