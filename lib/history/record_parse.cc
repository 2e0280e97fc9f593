// Records come from a store that anybody may have written to: every field is checked here, once.
#include <algorithm>

#include "core/json.h"
#include "core/text.h"
#include "history/record.h"

namespace wdelta {

namespace {

Error Malformed(std::string why) {
  return Error{ErrorKind::kIntegrity, std::move(why)};
}

Result<bool> TakeNull(JsonReader& json) {
  WD_ASSIGN(const JsonReader::Type type, json.Peek());
  if (type != JsonReader::Type::kNull) return false;
  WD_TRY(json.Null());
  return true;
}

// Null is all zero.
Result<Sha256Digest> TakeDigest(JsonReader& json) {
  Sha256Digest digest{};
  WD_ASSIGN(const bool absent, TakeNull(json));
  if (absent) return digest;
  WD_ASSIGN(const std::string_view text, json.String());
  if (!FromHex(text, digest)) return Malformed("'" + Shorten(text, 80) + "' is not a SHA-256");
  return digest;
}

Result<std::string> TakeId(JsonReader& json) {
  WD_ASSIGN(const std::string_view text, json.String());
  std::array<uint8_t, 16> bytes;
  if (!FromHex(text, bytes)) return Malformed("'" + Shorten(text, 80) + "' is not an id of 32 hexadecimal digits");
  return std::string(text);
}

// The fields of the object that is open: hands each key to `take`, which reads its value and says whether it knew it.
// What it does not know is skipped: fields may be added.
template <class Take>
Result<> TakeFields(JsonReader& json, const Take& take) {
  for (;;) {
    WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
    if (!key) return {};
    const std::string name(*key);
    WD_ASSIGN(const bool known, take(name));
    if (!known) WD_TRY(json.Skip());
  }
}

// An array, each element of which `take` reads.
template <class T, class Take>
Result<std::vector<T>> TakeArray(JsonReader& json, const Take& take) {
  std::vector<T> elements;
  WD_TRY(json.BeginArray());
  for (;;) {
    WD_ASSIGN(const bool more, json.NextElement());
    if (!more) return elements;
    WD_ASSIGN(elements.emplace_back(), take(json));
  }
}

// A field that has a place to be read into; false: `to` is null, because the key is not known.
Result<bool> TakeInto(JsonReader& json, uint64_t* to) {
  if (!to) return false;
  WD_ASSIGN(*to, json.UnsignedInteger());
  return true;
}
Result<bool> TakeInto(JsonReader& json, Sha256Digest* to) {
  if (!to) return false;
  WD_ASSIGN(*to, TakeDigest(json));
  return true;
}

Result<ObjectRef> TakeObject(JsonReader& json) {
  ObjectRef object;
  WD_TRY(json.BeginObject());
  WD_TRY(TakeFields(json, [&](const std::string& key) {
    return key == "sha256" ? TakeInto(json, &object.sha256) : TakeInto(json, key == "bytes" ? &object.bytes : nullptr);
  }));
  if (object.sha256 == Sha256Digest{}) return Malformed("an object without its SHA-256");
  if (object.bytes == 0 || object.bytes > kMaxObjectBytes) {
    return Malformed("an object of " + std::to_string(object.bytes) + " bytes");
  }
  return object;
}

Result<std::optional<Way>> TakeWay(JsonReader& json) {
  WD_ASSIGN(const bool absent, TakeNull(json));
  if (absent) return std::optional<Way>();
  Way way;
  WD_ASSIGN(way.objects, TakeArray<ObjectRef>(json, TakeObject));
  if (way.objects.empty()) return Malformed("a pack without objects");
  return std::optional<Way>(std::move(way));
}

// One field of an entry; false if it is none.
Result<bool> TakeEntryField(JsonReader& json, std::string_view key, RecordEntry& entry) {
  if (key == "step") {
    WD_ASSIGN(const bool absent, TakeNull(json));
    return absent ? Result<bool>(true) : TakeInto(json, &entry.step.emplace());
  }
  if (key == "delta" || key == "anchor") {
    WD_ASSIGN((key == "delta" ? entry.delta : entry.anchor), TakeWay(json));
    return true;
  }
  Sha256Digest* const digest = key == "state"         ? &entry.state
                               : key == "record"      ? &entry.record
                               : key == "fingerprint" ? &entry.fingerprint
                                                      : nullptr;
  if (digest) return TakeInto(json, digest);
  return TakeInto(json, key == "number"             ? &entry.number
                        : key == "created"          ? &entry.created
                        : key == "elements_total"   ? &entry.elements_total
                        : key == "elements_changed" ? &entry.elements_changed
                        : key == "bytes_total"      ? &entry.bytes_total
                                                    : nullptr);
}

Result<> CheckEntry(RecordEntry& entry, uint64_t expected_number) {
  const std::string name = "record " + std::to_string(expected_number);
  if (entry.number != expected_number) return Malformed(name + " says that it is " + std::to_string(entry.number));
  if (entry.state == Sha256Digest{} || entry.fingerprint == Sha256Digest{}) return Malformed(name + " has no state");
  if (!entry.delta && !entry.anchor) return Malformed(name + " cannot be reached: it has neither delta nor anchor");
  if (entry.number == 1 && (entry.delta || !entry.anchor)) return Malformed("the first record is not an anchor");
  if (entry.delta) entry.delta->from = entry.number - 1;
  return {};
}

// Reads a JSON object whose first key is `version_key`, and hands the others to `take`, as TakeFields does.
template <class Take>
Result<> ReadObject(ByteSpan bytes, std::string_view version_key, const std::string& what, const Take& take) {
  if (!ValidUtf8(bytes)) return Malformed("not UTF-8");
  JsonReader json(AsText(bytes));
  WD_TRY(json.BeginObject());
  WD_ASSIGN(const std::optional<std::string_view> first, json.NextKey());
  if (!first || *first != version_key) return Malformed("no " + what);
  WD_ASSIGN(const uint64_t version, json.UnsignedInteger());
  if (version != 1) {
    return Error{ErrorKind::kRefused,
                 "a " + what + " of version " + std::to_string(version) + "; this wdelta reads version 1",
                 "a newer wdelta may read it"};
  }
  WD_TRY(TakeFields(json, [&](const std::string& key) { return take(json, key); }));
  return json.End();
}

Result<RecordEntry> TakeEarlier(JsonReader& json) {
  RecordEntry entry;
  WD_TRY(json.BeginObject());
  WD_TRY(TakeFields(json, [&](const std::string& key) { return TakeEntryField(json, key, entry); }));
  return entry;
}

Result<uint64_t> TakeRecordNumber(JsonReader& json) {
  WD_ASSIGN(const uint64_t number, json.UnsignedInteger());
  if (number > kMaxRecordNumber) return Malformed("a number beyond all records");
  return number;
}

Result<std::pair<uint64_t, uint64_t>> TakeJump(JsonReader& json) {
  WD_ASSIGN(const std::vector<uint64_t> ends, TakeArray<uint64_t>(json, TakeRecordNumber));
  if (ends.size() != 2) return Malformed("a jump without both its ends");
  return std::pair(ends[0], ends[1]);
}

}  // namespace

Result<Record> ParseRecord(ByteSpan bytes, uint64_t expected_number) {
  Record record;
  const auto take = [&](JsonReader& json, const std::string& key) -> Result<bool> {
    if (key == "record") return false;  // an entry's own; here it is computed
    WD_ASSIGN(const bool known, TakeEntryField(json, key, record.entry));
    if (known) return true;
    if (key == "history" || key == "writer") {
      WD_ASSIGN((key == "history" ? record.history : record.writer), TakeId(json));
      return true;
    }
    Sha256Digest* const digest = key == "previous"           ? &record.previous
                                 : key == "before"           ? &record.before
                                 : key == "layout"           ? &record.layout
                                 : key == "base_state"       ? &record.base_state
                                 : key == "base_fingerprint" ? &record.base_fingerprint
                                                             : nullptr;
    if (digest) return TakeInto(json, digest);
    if (key == "earlier") {
      WD_ASSIGN(record.earlier, TakeArray<RecordEntry>(json, TakeEarlier));
      return true;
    }
    Totals& totals = record.totals;
    return TakeInto(json, key == "bytes_changed"     ? &totals.bytes_changed
                          : key == "tensors_total"   ? &totals.tensors_total
                          : key == "tensors_changed" ? &totals.tensors_changed
                          : key == "tensors_added"   ? &totals.tensors_added
                          : key == "tensors_removed" ? &totals.tensors_removed
                          : key == "files_changed"   ? &totals.files_changed
                                                     : nullptr);
  };
  WD_TRY(ReadObject(bytes, "wdelta_record", "record", take));
  const std::string_view text = AsText(bytes);
  const size_t check_bytes = RecordCheck("").size();
  if (text.size() < check_bytes || !text.ends_with(RecordCheck(text.substr(0, text.size() - check_bytes)))) {
    return Malformed("it does not have its checksum");
  }
  RecordEntry& entry = record.entry;
  WD_TRY(CheckEntry(entry, expected_number));
  entry.record = DigestSha256(bytes);
  record.totals.elements_total = entry.elements_total;
  record.totals.elements_changed = entry.elements_changed;
  record.totals.bytes_total = entry.bytes_total;
  if (record.history.empty() || record.writer.empty()) return Malformed("no history or no writer is named");
  if (entry.number > 1 && record.previous == Sha256Digest{}) return Malformed("the record before is not named");
  if (entry.delta && record.base_state == Sha256Digest{}) return Malformed("a delta without its base");
  const uint64_t first = FirstCovered(entry.number);
  if (record.earlier.size() != entry.number - first) return Malformed("not the earlier records that it should repeat");
  for (size_t i = 0; i < record.earlier.size(); ++i) {
    WD_TRY(CheckEntry(record.earlier[i], first + i));
    if (record.earlier[i].record == Sha256Digest{}) return Malformed("an earlier record without its SHA-256");
  }
  if ((first > 1) != (record.before != Sha256Digest{}))
    return Malformed("not the earlier record that a walk reads next");
  if (!record.earlier.empty() && record.earlier.back().record != record.previous) {
    return Malformed("the record before has two digests");
  }
  return record;
}

Result<AddedWay> ParseAddedWay(ByteSpan bytes) {
  AddedWay added;
  WD_TRY(ReadObject(bytes, "wdelta_way", "way", [&](JsonReader& json, const std::string& key) -> Result<bool> {
    if (key == "history") {
      WD_ASSIGN(added.history, TakeId(json));
      return true;
    }
    if (key == "objects") {
      WD_ASSIGN(const std::optional<Way> way, TakeWay(json));
      if (way) added.way.objects = way->objects;
      return true;
    }
    if (key == "state") return TakeInto(json, &added.state);
    return TakeInto(json, key == "number" ? &added.number : key == "from" ? &added.way.from : nullptr);
  }));
  const bool complete = !added.history.empty() && added.state != Sha256Digest{} && !added.way.objects.empty();
  if (!complete || added.number == 0 || added.way.from >= added.number) return Malformed("a malformed added pack");
  return added;
}

Result<TipHint> ParseTipHint(ByteSpan bytes) {
  TipHint hint;
  WD_TRY(ReadObject(bytes, "wdelta_tip", "tip", [&](JsonReader& json, const std::string& key) -> Result<bool> {
    if (key == "number") {
      WD_ASSIGN(hint.number, TakeRecordNumber(json));
    } else if (key == "anchors") {
      WD_ASSIGN(hint.anchors, TakeArray<uint64_t>(json, TakeRecordNumber));
    } else if (key == "jumps") {
      WD_ASSIGN(hint.jumps, (TakeArray<std::pair<uint64_t, uint64_t>>(json, TakeJump)));
    } else {
      return false;
    }
    return true;
  }));
  std::sort(hint.anchors.begin(), hint.anchors.end());
  return hint;
}

Result<Tag> ParseTag(ByteSpan bytes) {
  Tag tag;
  WD_TRY(ReadObject(bytes, "wdelta_tag", "tag", [&](JsonReader& json, const std::string& key) {
    return key == "state" ? TakeInto(json, &tag.state) : TakeInto(json, key == "number" ? &tag.number : nullptr);
  }));
  if (tag.number == 0 || tag.number > kMaxRecordNumber || tag.state == Sha256Digest{}) {
    return Malformed("a tag without its record");
  }
  return tag;
}

}  // namespace wdelta
