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

Result<Sha256Digest> TakeDigest(JsonReader& json) {
  WD_ASSIGN(const JsonReader::Type type, json.Peek());
  Sha256Digest digest{};
  if (type == JsonReader::Type::kNull) {
    WD_TRY(json.Null());
    return digest;
  }
  WD_ASSIGN(const std::string_view text, json.String());
  if (!FromHex(text, digest)) return Malformed("'" + Shorten(text, 80) + "' is no SHA-256");
  return digest;
}

Result<std::string> TakeId(JsonReader& json) {
  WD_ASSIGN(const std::string_view text, json.String());
  std::array<uint8_t, 16> bytes;
  if (!FromHex(text, bytes)) return Malformed("'" + Shorten(text, 80) + "' is no id of 32 hexadecimal digits");
  return std::string(text);
}

Result<ObjectRef> TakeObject(JsonReader& json) {
  ObjectRef object;
  WD_TRY(json.BeginObject());
  for (;;) {
    WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
    if (!key) break;
    if (*key == "sha256") {
      WD_ASSIGN(object.sha256, TakeDigest(json));
    } else if (*key == "bytes") {
      WD_ASSIGN(object.bytes, json.UnsignedInteger());
    } else {
      WD_TRY(json.Skip());
    }
  }
  if (object.sha256 == Sha256Digest{}) return Malformed("an object without its SHA-256");
  if (object.bytes == 0 || object.bytes > kMaxObjectBytes) {
    return Malformed("an object of " + std::to_string(object.bytes) + " bytes");
  }
  return object;
}

Result<std::optional<Way>> TakeWay(JsonReader& json, uint64_t from) {
  WD_ASSIGN(const JsonReader::Type type, json.Peek());
  if (type == JsonReader::Type::kNull) {
    WD_TRY(json.Null());
    return std::optional<Way>();
  }
  Way way;
  way.from = from;
  WD_TRY(json.BeginArray());
  for (;;) {
    WD_ASSIGN(const bool more, json.NextElement());
    if (!more) break;
    WD_ASSIGN(way.objects.emplace_back(), TakeObject(json));
  }
  if (way.objects.empty()) return Malformed("a way without objects");
  return std::optional<Way>(std::move(way));
}

Result<bool> IsNull(JsonReader& json) {
  WD_ASSIGN(const JsonReader::Type type, json.Peek());
  if (type != JsonReader::Type::kNull) return false;
  WD_TRY(json.Null());
  return true;
}

// One field of an entry; false if it is none.
Result<bool> TakeEntryField(JsonReader& json, std::string_view key, RecordEntry& entry) {
  if (key == "state" || key == "fingerprint" || key == "record") {
    WD_ASSIGN((key == "state" ? entry.state : key == "record" ? entry.record : entry.fingerprint), TakeDigest(json));
    return true;
  }
  if (key == "step") {
    WD_ASSIGN(const bool absent, IsNull(json));
    if (absent) return true;
    WD_ASSIGN(entry.step, json.UnsignedInteger());
    return true;
  }
  if (key == "delta" || key == "anchor") {
    WD_ASSIGN((key == "delta" ? entry.delta : entry.anchor), TakeWay(json, 0));
    return true;
  }
  uint64_t* const number = key == "number"             ? &entry.number
                           : key == "created"          ? &entry.created
                           : key == "elements_total"   ? &entry.elements_total
                           : key == "elements_changed" ? &entry.elements_changed
                           : key == "bytes_total"      ? &entry.bytes_total
                                                       : nullptr;
  if (!number) return false;
  WD_ASSIGN(*number, json.UnsignedInteger());
  return true;
}

Result<> CheckEntry(RecordEntry& entry, uint64_t expected_number) {
  const std::string name = "record " + std::to_string(expected_number);
  if (entry.number != expected_number) return Malformed(name + " says that it is " + std::to_string(entry.number));
  if (entry.state == Sha256Digest{} || entry.fingerprint == Sha256Digest{}) return Malformed(name + " has no state");
  if (!entry.delta && !entry.anchor) return Malformed(name + " cannot be reached: it has neither delta nor anchor");
  if (entry.number == 1 && (entry.delta || !entry.anchor)) return Malformed("the first record is no anchor");
  if (entry.delta) entry.delta->from = entry.number - 1;
  return {};
}

// The version that every small object begins with, under its own key.
Result<> TakeVersion(JsonReader& json, std::string_view what) {
  WD_ASSIGN(const uint64_t version, json.UnsignedInteger());
  if (version == 1) return {};
  return Error{ErrorKind::kRefused,
               "a " + std::string(what) + " of version " + std::to_string(version) + "; this wdelta reads version 1",
               "a newer wdelta may read it"};
}

// Reads a JSON object whose first key is `version_key`, and hands the other keys to `take`, which says whether it knew
// them. What it does not know is skipped: fields may be added.
template <class Take>
Result<> ReadObject(ByteSpan bytes, std::string_view version_key, std::string_view what, const Take& take) {
  if (!ValidUtf8(bytes)) return Malformed("not UTF-8");
  JsonReader json(AsText(bytes));
  WD_TRY(json.BeginObject());
  WD_ASSIGN(const std::optional<std::string_view> first, json.NextKey());
  if (!first || *first != version_key) return Malformed("no " + std::string(what));
  WD_TRY(TakeVersion(json, what));
  for (;;) {
    WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
    if (!key) break;
    const std::string name(*key);
    WD_ASSIGN(const bool known, take(json, name));
    if (!known) WD_TRY(json.Skip());
  }
  return json.End();
}

Result<std::vector<RecordEntry>> TakeEarlier(JsonReader& json) {
  std::vector<RecordEntry> entries;
  WD_TRY(json.BeginArray());
  for (;;) {
    WD_ASSIGN(const bool more, json.NextElement());
    if (!more) return entries;
    RecordEntry& entry = entries.emplace_back();
    WD_TRY(json.BeginObject());
    for (;;) {
      WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
      if (!key) break;
      const std::string name(*key);
      WD_ASSIGN(const bool known, TakeEntryField(json, name, entry));
      if (!known) WD_TRY(json.Skip());
    }
  }
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
    if (digest) {
      WD_ASSIGN(*digest, TakeDigest(json));
      return true;
    }
    Totals& totals = record.totals;
    uint64_t* const number = key == "bytes_changed"     ? &totals.bytes_changed
                             : key == "tensors_total"   ? &totals.tensors_total
                             : key == "tensors_changed" ? &totals.tensors_changed
                             : key == "tensors_added"   ? &totals.tensors_added
                             : key == "tensors_removed" ? &totals.tensors_removed
                             : key == "files_changed"   ? &totals.files_changed
                                                        : nullptr;
    if (number) {
      WD_ASSIGN(*number, json.UnsignedInteger());
      return true;
    }
    if (key == "earlier") {
      WD_ASSIGN(record.earlier, TakeEarlier(json));
      return true;
    }
    return false;
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
    } else if (key == "number") {
      WD_ASSIGN(added.number, json.UnsignedInteger());
    } else if (key == "from") {
      WD_ASSIGN(added.way.from, json.UnsignedInteger());
    } else if (key == "state") {
      WD_ASSIGN(added.state, TakeDigest(json));
    } else if (key == "objects") {
      WD_ASSIGN(const std::optional<Way> way, TakeWay(json, 0));
      if (way) added.way.objects = way->objects;
    } else {
      return false;
    }
    return true;
  }));
  const bool complete = !added.history.empty() && added.state != Sha256Digest{} && !added.way.objects.empty();
  if (!complete || added.number == 0 || added.way.from >= added.number) return Malformed("a way that cannot be");
  return added;
}

Result<TipHint> ParseTipHint(ByteSpan bytes) {
  TipHint hint;
  const auto take_number = [](JsonReader& json) -> Result<uint64_t> {
    WD_ASSIGN(const uint64_t number, json.UnsignedInteger());
    if (number > kMaxRecordNumber) return Malformed("a number beyond all records");
    return number;
  };
  WD_TRY(ReadObject(bytes, "wdelta_tip", "tip", [&](JsonReader& json, const std::string& key) -> Result<bool> {
    if (key == "number") {
      WD_ASSIGN(hint.number, take_number(json));
    } else if (key == "anchors") {
      WD_TRY(json.BeginArray());
      for (;;) {
        WD_ASSIGN(const bool more, json.NextElement());
        if (!more) break;
        WD_ASSIGN(hint.anchors.emplace_back(), take_number(json));
      }
    } else if (key == "jumps") {
      WD_TRY(json.BeginArray());
      for (;;) {
        WD_ASSIGN(const bool more, json.NextElement());
        if (!more) break;
        std::vector<uint64_t> pair;
        WD_TRY(json.BeginArray());
        for (;;) {
          WD_ASSIGN(const bool another, json.NextElement());
          if (!another) break;
          WD_ASSIGN(pair.emplace_back(), take_number(json));
        }
        if (pair.size() != 2) return Malformed("a jump without both its ends");
        hint.jumps.emplace_back(pair[0], pair[1]);
      }
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
  WD_TRY(ReadObject(bytes, "wdelta_tag", "tag", [&](JsonReader& json, const std::string& key) -> Result<bool> {
    if (key == "number") {
      WD_ASSIGN(tag.number, json.UnsignedInteger());
    } else if (key == "state") {
      WD_ASSIGN(tag.state, TakeDigest(json));
    } else {
      return false;
    }
    return true;
  }));
  if (tag.number == 0 || tag.number > kMaxRecordNumber || tag.state == Sha256Digest{}) {
    return Malformed("a tag without its record");
  }
  return tag;
}

}  // namespace wdelta
