// A strict JSON reader for hostile text.
//
// JsonReader pulls one token after the other and builds no tree, so that a header of 100 MB costs little more memory
// than itself: eight bytes for each key of the objects that are open. It accepts exactly RFC 8259: no comments, no
// trailing commas, no leading zeros, no raw control characters, no lone surrogates, no byte order mark. Beyond that it
// refuses a key that an object has twice (compared after unescaping), nesting beyond kMaxDepth, and, as serde_json
// does, a number too large for a double. The text must be valid UTF-8 (ValidUtf8 below) before it comes here.
//
//   JsonReader json(text);
//   WD_TRY(json.Object([&](std::string_view key) -> Result<> {
//     if (key == "step") return json.Into(step);
//     return json.Skip();  // exactly one value for each key
//   }));
//   WD_TRY(json.End());
//
// Every failure is kIntegrity and says at which byte and why: "byte 17: expected ','". A reader that failed is done
// with.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/bytes.h"

namespace wdelta {

class JsonReader {
 public:
  static constexpr unsigned kMaxDepth = 127;  // objects and arrays inside one another, as the reference counts them
  enum class Type { kObject, kArray, kString, kNumber, kTrue, kFalse, kNull, kEnd };

  explicit JsonReader(std::string_view text) : text_(text) {}

  Result<Type> Peek();
  // Opens an object; NextKey gives its keys one by one, unescaped, and nullopt at its end, where it fails if two of
  // them were the same. A key is valid until the next call; KeyIsVerbatim tells that it is a view into the text itself,
  // which lives as long as the text.
  Result<> BeginObject();
  Result<std::optional<std::string_view>> NextKey();
  bool KeyIsVerbatim() const { return key_is_verbatim_; }
  // The last key, when it is not verbatim, without a copy: it may be nearly as long as the text.
  std::string TakeKey() { return std::move(scratch_); }
  // Opens an array; NextElement is false at its end.
  Result<> BeginArray();
  Result<bool> NextElement();

  Result<std::string_view> String();   // unescaped; valid until the next call
  Result<uint64_t> UnsignedInteger();  // digits only: no sign, fraction, exponent; at most 2^64 - 1
  Result<> Null();
  Result<> Skip();  // any one value, checked in full at every level
  Result<> End();   // nothing but white space is left

  // A whole object: calls read(key) for each key, which then reads one value.
  template <class Read>
  Result<> Object(const Read& read) {
    WD_TRY(BeginObject());
    for (;;) {
      WD_ASSIGN(const std::optional<std::string_view> key, NextKey());
      if (!key) return {};
      WD_TRY(read(*key));
    }
  }
  // A whole array: calls read() for each element.
  template <class Read>
  Result<> Array(const Read& read) {
    WD_TRY(BeginArray());
    for (;;) {
      WD_ASSIGN(const bool more, NextElement());
      if (!more) return {};
      WD_TRY(read());
    }
  }
  // A string into a place for one, else an unsigned integer.
  template <class Place>
  Result<> Into(Place& place) {
    if constexpr (std::is_assignable_v<Place&, std::string_view>) {
      WD_ASSIGN(place, String());
    } else {
      WD_ASSIGN(place, UnsignedInteger());
    }
    return {};
  }

  size_t position() const { return at_; }
  // After a failure: the key that some object had twice, if that was the reason.
  const std::optional<std::string>& repeated_key() const { return repeated_key_; }

 private:
  struct Level {
    size_t open_at;  // of the bracket
    size_t keys_at;  // where its keys begin in hashes_
    bool is_object;
    bool is_first;  // no item was read yet
  };
  enum class Step { kItem, kEnd, kFailed };

  // These return false, or kFailed, after setting failure_: cheaper than a Result in the innermost loops.
  bool Refuse(const char* why);
  bool Enter(char open);
  Step StepObject(std::string_view* key);
  Step StepArray();
  bool CloseObject();
  bool ReadString(bool keep, std::string_view* value);
  bool Unescape(size_t begin, size_t end, bool keep);
  bool SkipNumber();
  bool SkipWord(std::string_view word);
  bool SkipScalar();
  bool SkipValue();

  Error Failure() const;
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  void RememberKey(std::string_view key);
  std::string NameOfKey(size_t object_at, uint64_t hash) const;

  std::string_view text_;
  size_t at_ = 0;
  std::string scratch_;           // the last string that had escapes
  std::vector<Level> levels_;     // the brackets that are open
  std::vector<uint64_t> hashes_;  // the keys of the open objects, outermost first
  bool key_is_verbatim_ = false;
  bool compare_keys_ = true;
  const char* failure_ = "";
  std::optional<std::string> repeated_key_;
};

// Finds a key that occurs twice, in little memory: eight bytes a key, whatever its length. Keys are compared by a
// 64-bit hash: among ten million keys the chance of a false alarm is three in a million, and it only ever refuses.
class DuplicateKeys {
 public:
  void Add(std::string_view key);
  bool Any();  // sorts; call it once, after the last Add

 private:
  std::vector<uint64_t> hashes_;
};

// A value that occurs at least twice in `values`, which are hashes and do not outlive the call.
std::optional<uint64_t> FindRepeated(std::span<uint64_t> values);

bool ValidUtf8(ByteSpan bytes);

}  // namespace wdelta
