// Bytes in memory, and the little-endian numbers in them. ByteReader is the only way that counts and lengths from a
// file enter the library: every read is checked against what is left, so nothing is allocated by a number alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/try.h"

namespace wdelta {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "wdelta reads tensor bytes as they lie in the file");

using Bytes = std::vector<uint8_t>;
using ByteSpan = std::span<const uint8_t>;
using MutableByteSpan = std::span<uint8_t>;

inline ByteSpan AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
inline std::string_view AsText(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Whether `text` occurs in `bytes`; memmem is many times faster than find() where the first letter is frequent.
inline bool Contains(ByteSpan bytes, std::string_view text) {
  return !bytes.empty() && memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
}

// Unaligned load and store: tensor data may start at any byte of a file.
template <class T>
T Load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <class T>
void Store(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Checked arithmetic for sizes that come from a file: false on overflow, and `out` is then unspecified.
inline bool CheckedAdd(uint64_t a, uint64_t b, uint64_t* out) {
  return !__builtin_add_overflow(a, b, out);
}
inline bool CheckedMultiply(uint64_t a, uint64_t b, uint64_t* out) {
  return !__builtin_mul_overflow(a, b, out);
}

// Appends numbers and strings to a growing buffer.
class ByteWriter {
 public:
  template <class T>
  void Fixed(T value) {
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    Store(bytes_.data() + at, value);
  }
  // Seven bits a byte, least significant first, the high bit set on all but the last.
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<uint8_t>(value | 0x80));
    bytes_.push_back(static_cast<uint8_t>(value));
  }
  void Raw(ByteSpan data) { bytes_.insert(bytes_.end(), data.begin(), data.end()); }
  void Text(std::string_view text) {  // length as a varint, then the bytes
    Varint(text.size());
    Raw(AsBytes(text));
  }
  const Bytes& bytes() const { return bytes_; }
  Bytes Take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

// Reads what ByteWriter wrote. Every failure is kIntegrity: "ends too early", or a varint that is not in its
// shortest form or does not fit 64 bits.
class ByteReader {
 public:
  explicit ByteReader(ByteSpan bytes) : rest_(bytes) {}

  size_t left() const { return rest_.size(); }

  template <class T>
  Result<T> Fixed() {
    WD_ASSIGN(const ByteSpan data, Raw(sizeof(T)));
    return Load<T>(data.data());
  }
  Result<uint64_t> Varint() {
    uint64_t value = 0;
    for (size_t i = 0; i < rest_.size() && i < 10; ++i) {
      const uint64_t byte = rest_[i];
      if (i == 9 && byte > 1) break;
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        if (byte == 0 && i > 0) return Error{ErrorKind::kIntegrity, "number not in its shortest form"};
        rest_ = rest_.subspan(i + 1);
        return value;
      }
    }
    return Error{ErrorKind::kIntegrity, rest_.size() < 10 ? "ends too early" : "number over 64 bits"};
  }
  // A varint that counts things of at least `unit` bytes each that must follow: refused if they cannot all be there.
  Result<uint64_t> Count(size_t unit = 1) {
    WD_ASSIGN(const uint64_t count, Varint());
    if (count > rest_.size() / unit) return Error{ErrorKind::kIntegrity, "count larger than what follows"};
    return count;
  }
  Result<ByteSpan> Raw(uint64_t length) {
    if (length > rest_.size()) return Error{ErrorKind::kIntegrity, "ends too early"};
    const ByteSpan data = rest_.first(length);
    rest_ = rest_.subspan(length);
    return data;
  }
  Result<std::string> Text() {
    WD_ASSIGN(const uint64_t length, Varint());
    WD_ASSIGN(const ByteSpan data, Raw(length));
    return std::string(AsText(data));
  }
  Result<> ExpectEnd() const {
    if (!rest_.empty()) return Error{ErrorKind::kIntegrity, std::to_string(rest_.size()) + " bytes too many"};
    return {};
  }

 private:
  ByteSpan rest_;
};

}  // namespace wdelta
