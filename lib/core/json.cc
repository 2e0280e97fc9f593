#include "core/json.h"

#include "core/digest.h"
#include "core/text.h"

namespace wdelta {

bool ValidUtf8(ByteSpan bytes) {
  return ValidUtf8Prefix(bytes) == bytes.size();
}

Error JsonReader::Failure() const {
  std::string message = "byte " + std::to_string(at_) + ": " + failure_;
  if (repeated_key_) message = "key '" + Shorten(*repeated_key_) + "' occurs twice in one object";
  return Error{ErrorKind::kIntegrity, std::move(message)};
}

bool JsonReader::Refuse(const char* why) {
  failure_ = at_ < text_.size() ? why : "ends too early";
  return false;
}

Result<JsonReader::Type> JsonReader::Peek() {
  SkipSpace();
  if (at_ == text_.size()) return Type::kEnd;
  switch (text_[at_]) {
    case '{':
      return Type::kObject;
    case '[':
      return Type::kArray;
    case '"':
      return Type::kString;
    case 't':
      return Type::kTrue;
    case 'f':
      return Type::kFalse;
    case 'n':
      return Type::kNull;
    default:
      if (text_[at_] == '-' || IsDigit(text_[at_])) return Type::kNumber;
      Refuse("expected a value");
      return Failure();
  }
}

bool JsonReader::Enter(char open) {
  SkipSpace();
  if (at_ == text_.size() || text_[at_] != open)
    return Refuse(open == '{' ? "expected an object" : "expected an array");
  if (levels_.size() == kMaxDepth) return Refuse("nested more than 127 deep");
  levels_.push_back({at_++, hashes_.size(), open == '{', true});
  return true;
}

Result<> JsonReader::BeginObject() {
  if (!Enter('{')) return Failure();
  return {};
}

Result<> JsonReader::BeginArray() {
  if (!Enter('[')) return Failure();
  return {};
}

inline JsonReader::Step JsonReader::StepArray() {
  Level& level = levels_.back();
  SkipSpace();
  if (at_ < text_.size() && text_[at_] == ']') {
    ++at_;
    levels_.pop_back();
    return Step::kEnd;
  }
  if (!level.is_first) {
    if (at_ == text_.size() || text_[at_] != ',') return Refuse("expected ',' or ']'"), Step::kFailed;
    ++at_;
  }
  level.is_first = false;
  return Step::kItem;
}

inline JsonReader::Step JsonReader::StepObject(std::string_view* key) {
  Level& level = levels_.back();
  SkipSpace();
  if (at_ < text_.size() && text_[at_] == '}') {
    ++at_;
    return CloseObject() ? Step::kEnd : Step::kFailed;
  }
  if (!level.is_first) {
    if (at_ == text_.size() || text_[at_] != ',') return Refuse("expected ',' or '}'"), Step::kFailed;
    ++at_;
    SkipSpace();
  }
  level.is_first = false;
  if (at_ == text_.size() || text_[at_] != '"') return Refuse("expected a key in quotes"), Step::kFailed;
  const size_t quote = at_;
  if (!ReadString(/*keep=*/true, key)) return Step::kFailed;
  key_is_verbatim_ = key->data() == text_.data() + quote + 1;
  if (compare_keys_) RememberKey(*key);
  SkipSpace();
  if (at_ == text_.size() || text_[at_] != ':') return Refuse("expected ':'"), Step::kFailed;
  ++at_;
  return Step::kItem;
}

Result<std::optional<std::string_view>> JsonReader::NextKey() {
  std::string_view key;
  const Step step = StepObject(&key);
  if (step == Step::kFailed) return Failure();
  if (step == Step::kEnd) return std::optional<std::string_view>();
  return std::optional(key);
}

Result<bool> JsonReader::NextElement() {
  const Step step = StepArray();
  if (step == Step::kFailed) return Failure();
  return step == Step::kItem;
}

void JsonReader::RememberKey(std::string_view key) {
  // Doubling a large vector would hold it twice. From here on take room for as many keys as the rest of the text can
  // have, of which only the pages in use cost memory.
  constexpr size_t kMany = 64 << 10, kShortestMember = 5;
  if (hashes_.size() == hashes_.capacity() && hashes_.size() >= kMany) {
    hashes_.reserve(hashes_.size() + (text_.size() - at_) / kShortestMember + 1);
  }
  hashes_.push_back(Hash64(AsBytes(key)));
}

bool JsonReader::CloseObject() {
  const Level level = levels_.back();
  const auto repeated = FindRepeated(std::span(hashes_).subspan(level.keys_at));
  if (repeated) {
    repeated_key_ = NameOfKey(level.open_at, *repeated);
    return Refuse("a key occurs twice");
  }
  hashes_.resize(level.keys_at);
  levels_.pop_back();
  return true;
}

// Only the hash of a key was kept: read the object once more, which is known to be well formed, to give it a name.
std::string JsonReader::NameOfKey(size_t object_at, uint64_t hash) const {
  JsonReader again(text_.substr(object_at));
  again.compare_keys_ = false;
  std::string_view key;
  again.Enter('{');
  while (again.StepObject(&key) == Step::kItem) {
    if (Hash64(AsBytes(key)) == hash) return Shorten(key);
    if (!again.SkipValue()) break;
  }
  return "";
}

Result<> JsonReader::Null() {
  SkipSpace();
  if (!SkipWord("null")) return Failure();
  return {};
}

Result<> JsonReader::End() {
  SkipSpace();
  if (at_ == text_.size()) return {};
  Refuse("text after the end of the JSON value");
  return Failure();
}

bool JsonReader::SkipWord(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return Refuse("expected a value");
  at_ += word.size();
  return true;
}

bool JsonReader::SkipScalar() {
  std::string_view unused;
  if (at_ == text_.size()) return Refuse("");
  switch (text_[at_]) {
    case '"':
      return ReadString(/*keep=*/false, &unused);
    case 't':
      return SkipWord("true");
    case 'f':
      return SkipWord("false");
    case 'n':
      return SkipWord("null");
    default:
      if (text_[at_] == '-' || IsDigit(text_[at_])) return SkipNumber();
      return Refuse("expected a value");
  }
}

// No recursion: the depth of hostile text must not become the depth of our stack.
bool JsonReader::SkipValue() {
  const size_t outside = levels_.size();
  for (;;) {
    SkipSpace();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '{' || c == '[') {
      if (!Enter(c)) return false;
    } else if (!SkipScalar()) {
      return false;
    }
    // On to the next item of the innermost bracket, past all that close here.
    Step step = Step::kEnd;
    while (step == Step::kEnd && levels_.size() > outside) {
      std::string_view key;
      step = levels_.back().is_object ? StepObject(&key) : StepArray();
    }
    if (step == Step::kFailed) return false;
    if (step == Step::kEnd) return true;
  }
}

Result<> JsonReader::Skip() {
  if (!SkipValue()) return Failure();
  return {};
}

}  // namespace wdelta
