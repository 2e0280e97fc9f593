#include "checkpoint/safetensors_parser.h"

#include <algorithm>

#include "core/digest.h"
#include "core/text.h"

namespace wdelta {

namespace {

using Type = JsonReader::Type;

std::string TypeName(Type type) {
  constexpr const char* kNames[] = {"an object",     "an array",      "a string", "a number",
                                    "a truth value", "a truth value", "null",     "nothing"};  // as in the enum
  return kNames[static_cast<size_t>(type)];
}

// Makes room for all that can come, once a vector has grown past the usual: doubling would hold it twice, and of this
// room only the pages in use cost memory.
template <class T>
void GrowOnce(std::vector<T>* vector, size_t usual, size_t all) {
  if (vector->size() == vector->capacity() && vector->size() >= usual)
    vector->reserve(std::max(all, vector->size() + 1));
}

}  // namespace

SafetensorsParser::SafetensorsParser(const std::string& path, uint64_t data_bytes, SafetensorsHeader* header)
    : path_(path),
      data_bytes_(data_bytes),
      header_(*header),
      json_(AsText(header->bytes_).substr(8)),
      max_dimensions_((2 << 20) + header->bytes_.size() / 16) {}

Error SafetensorsParser::Refuse(const std::string& why, std::string expected, std::string found) const {
  Error error{ErrorKind::kIntegrity, "'" + path_ + "': "};
  if (in_tensor_) {
    error.tensor = Shorten(name_);
    error.message += "tensor '" + error.tensor + "': ";
  }
  error.message += why;
  return std::move(error).At(path_).Compared(std::move(expected), std::move(found));
}

template <class T>
Error SafetensorsParser::Explain(const Result<T>& result) const {
  const std::string& why = result.error().message;
  if (!in_tensor_ && json_.repeated_key() && *json_.repeated_key() != "__metadata__") {
    return Refuse("tensor '" + *json_.repeated_key() + "': name occurs twice").OfTensor(*json_.repeated_key());
  }
  if (json_.repeated_key()) return Refuse(why);
  return Refuse((field_.empty() ? "header, " : std::string(field_) + ": header, ") + why);
}

Result<> SafetensorsParser::Expect(Type wanted, std::string_view subject) {
  const auto type = json_.Peek();
  if (!type.ok()) return Explain(type);
  if (*type == wanted) return {};
  const std::string expected = TypeName(wanted), found = TypeName(*type);
  return Refuse(std::string(subject) + " is " + found + ", not " + expected, expected, found);
}

Result<> SafetensorsParser::Run() {
  const ByteSpan text = ByteSpan(header_.bytes_).subspan(8);
  if (const size_t valid = ValidUtf8Prefix(text); valid != text.size()) {
    return Refuse("header, byte " + std::to_string(valid) + ": not valid UTF-8");
  }
  WD_TRY(Expect(Type::kObject, "header"));
  if (auto begun = json_.BeginObject(); !begun.ok()) return Explain(begun);
  for (;;) {
    const auto key = json_.NextKey();
    if (!key.ok()) return Explain(key);
    if (!*key) break;
    if (**key == "__metadata__") {
      WD_TRY(ReadMetadata());
      continue;
    }
    constexpr size_t kUsualTensors = 4096, kShortestEntry = 50;  // "":{"dtype":"U8","shape":[],"data_offsets":[0,1]},
    GrowOnce(&header_.entries_, kUsualTensors, text.size() / kShortestEntry + 1);
    header_.entries_.emplace_back();
    KeepName(**key, &header_.entries_.back());
    in_tensor_ = true;
    WD_TRY(ReadTensor());
    in_tensor_ = false;
  }
  if (auto end = json_.End(); !end.ok()) return Explain(end);
  return CheckOrder();
}

void SafetensorsParser::KeepName(std::string_view key, SafetensorsHeader::Entry* entry) {
  entry->order = static_cast<uint32_t>(header_.entries_.size() - 1);
  if (!json_.KeyIsVerbatim()) {
    constexpr size_t kLong = 4096, kRoom = 64 << 10;
    std::vector<std::string>& places = header_.unescaped_names_;
    if (key.size() >= kLong) {
      // Goes before the last place, which short names still fill. Moving a string of this length moves no text.
      places.insert(places.empty() ? places.end() : places.end() - 1, json_.TakeKey());
      key = places.size() == 1 ? places.back() : places[places.size() - 2];
    } else {
      if (places.empty() || places.back().capacity() - places.back().size() < key.size()) {
        places.emplace_back().reserve(kRoom);
      }
      const size_t at = places.back().size();
      places.back() += key;
      key = std::string_view(places.back()).substr(at);
    }
  }
  entry->name = key.data();
  entry->name_bytes = static_cast<uint32_t>(key.size());
  name_ = key;
}

Result<> SafetensorsParser::ReadMetadata() {
  const auto type = json_.Peek();
  if (!type.ok()) return Explain(type);
  if (*type == Type::kNull) {
    if (auto null = json_.Null(); !null.ok()) return Explain(null);
    return {};
  }
  WD_TRY(Expect(Type::kObject, "'__metadata__'"));
  header_.metadata_at_ = 8 + json_.position();
  if (auto begun = json_.BeginObject(); !begun.ok()) return Explain(begun);
  for (;;) {
    const auto key = json_.NextKey();
    if (!key.ok()) {
      // Explain would take a repeated key outside a tensor for a tensor's name.
      if (json_.repeated_key()) return Refuse("'__metadata__': " + key.error().message);
      return Explain(key);
    }
    if (!*key) return {};
    // A hostile header may have millions of them: the words are put together for the one that is wrong.
    if (const auto value = json_.Peek(); !value.ok() || *value != Type::kString)
      return Expect(Type::kString, "'__metadata__': value of '" + Shorten(**key) + "'");
    if (auto skipped = json_.Skip(); !skipped.ok()) return Explain(skipped);
  }
}

Result<> SafetensorsParser::ReadTensor() {
  WD_TRY(Expect(Type::kObject, "entry"));
  if (auto begun = json_.BeginObject(); !begun.ok()) return Explain(begun);

  SafetensorsHeader::Entry* const entry = &header_.entries_.back();
  using FieldReader = Result<> (SafetensorsParser::*)(SafetensorsHeader::Entry*);
  struct Field {
    std::string_view name;
    FieldReader read;
  };
  static constexpr Field kFields[] = {{"dtype", &SafetensorsParser::ReadDtype},
                                      {"shape", &SafetensorsParser::ReadShape},
                                      {"data_offsets", &SafetensorsParser::ReadOffsets}};
  bool is_there[std::size(kFields)] = {};
  for (;;) {
    const auto key = json_.NextKey();
    if (!key.ok()) return Explain(key);
    if (!*key) break;
    const auto* field =
        std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& f) { return f.name == **key; });
    if (field == std::end(kFields)) {  // unknown, and ignored once it is known to be sound
      if (auto skipped = json_.Skip(); !skipped.ok()) return Explain(skipped);
      continue;
    }
    bool& seen = is_there[field - kFields];
    if (seen) return Refuse("field '" + std::string(field->name) + "' occurs twice");
    seen = true;
    field_ = field->name;
    WD_TRY((this->*field->read)(entry));
    field_ = {};
  }
  for (size_t i = 0; i < std::size(kFields); ++i) {
    if (!is_there[i]) return Refuse("field '" + std::string(kFields[i].name) + "' is missing");
  }
  return CheckSize(*entry);
}

Result<> SafetensorsParser::ReadDtype(SafetensorsHeader::Entry* entry) {
  WD_TRY(Expect(Type::kString, "dtype"));
  const auto name = json_.String();
  if (!name.ok()) return Explain(name);
  const std::optional<Dtype> dtype = DtypeFromName(*name);
  if (!dtype) return Refuse("unknown dtype '" + Shorten(*name) + "'", "", Shorten(*name));
  entry->dtype = static_cast<uint8_t>(*dtype);
  return {};
}

Result<> SafetensorsParser::BeginArray() {
  WD_TRY(Expect(Type::kArray, field_));
  if (auto begun = json_.BeginArray(); !begun.ok()) return Explain(begun);
  return {};
}

Result<> SafetensorsParser::ReadShape(SafetensorsHeader::Entry* entry) {
  WD_TRY(BeginArray());
  constexpr size_t kUsualDimensions = 64 << 10;
  std::vector<uint64_t>& shapes = header_.shapes_;
  const size_t begin = shapes.size();
  for (;;) {
    const auto more = json_.NextElement();
    if (!more.ok()) return Explain(more);
    if (!*more) break;
    const auto dimension = json_.UnsignedInteger();
    if (!dimension.ok()) return Explain(dimension);
    if (shapes.size() == max_dimensions_) {
      return Refuse("shapes have more than " + std::to_string(max_dimensions_) + " dimensions together",
                    std::to_string(max_dimensions_));
    }
    GrowOnce(&shapes, kUsualDimensions, max_dimensions_);
    shapes.push_back(*dimension);
  }
  entry->shape_at = static_cast<uint32_t>(begin);
  entry->rank = (shapes.size() - begin) & 0xffffff;  // max_dimensions_ is below that
  ShareShape(entry);
  return {};
}

void SafetensorsParser::ShareShape(SafetensorsHeader::Entry* entry) {
  std::vector<uint64_t>& shapes = header_.shapes_;
  const std::span<const uint64_t> shape = std::span(shapes).subspan(entry->shape_at, entry->rank);
  const uint64_t hash = Hash64({reinterpret_cast<const uint8_t*>(shape.data()), shape.size_bytes()});
  ShapePlace& place = recent_shapes_[hash % recent_shapes_.size()];
  const std::span<const uint64_t> known = std::span(shapes).subspan(place.at, place.rank);
  if (std::equal(shape.begin(), shape.end(), known.begin(), known.end())) {
    shapes.resize(entry->shape_at);
    entry->shape_at = place.at;
  } else {
    place = {entry->shape_at, entry->rank};
  }
}

Result<> SafetensorsParser::ReadOffsets(SafetensorsHeader::Entry* entry) {
  WD_TRY(BeginArray());
  uint64_t* const ends[] = {&entry->begin, &entry->end};
  for (size_t count = 0;; ++count) {
    const auto more = json_.NextElement();
    if (!more.ok()) return Explain(more);
    if (*more && count < 2) {
      const auto offset = json_.UnsignedInteger();
      if (!offset.ok()) return Explain(offset);
      *ends[count] = *offset;
      continue;
    }
    if (!*more && count == 2) return {};
    return Refuse("data_offsets are " +
                      std::string(*more        ? "more than two"
                                  : count == 0 ? "none"
                                               : "one") +
                      ", not two",
                  "2");
  }
}

}  // namespace wdelta
