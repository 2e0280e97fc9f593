// How records and the small objects around them are written; record_parse.cc reads them.
#include <fmt/format.h>

#include "core/json_object.h"
#include "core/text.h"
#include "history/record.h"

namespace wdelta {

uint64_t Way::bytes() const {
  uint64_t sum = 0;
  for (const ObjectRef& object : objects) sum += object.bytes;
  return sum;
}

uint64_t FirstCovered(uint64_t number) {
  constexpr uint64_t kGroup = 32, kMost = 512;
  if (number % kGroup != 0) return (number - 1) / kGroup * kGroup + 1;
  const uint64_t lowest_bit = number & (0 - number);
  return number - std::min(lowest_bit, kMost) + 1;
}

namespace {

JsonValue Objects(const Way& way) {
  return JsonList(way.objects, [](const ObjectRef& object) -> JsonObject {
    return {{"sha256", Hex(object.sha256)}, {"bytes", object.bytes}};
  });
}

JsonObject EntryFields(const RecordEntry& entry) {
  return {{"number", entry.number},
          {"state", Hex(entry.state)},
          {"fingerprint", Hex(entry.fingerprint)},
          {"step", entry.step},
          {"created", entry.created},
          {"delta", entry.delta ? Objects(*entry.delta) : JsonValue()},
          {"anchor", entry.anchor ? Objects(*entry.anchor) : JsonValue()},
          {"elements_total", entry.elements_total},
          {"elements_changed", entry.elements_changed},
          {"bytes_total", entry.bytes_total}};
}

// Null if there is none.
JsonValue Digest(const Sha256Digest& digest) {
  return digest == Sha256Digest{} ? JsonValue() : JsonValue(Hex(digest));
}

}  // namespace

std::string RecordText(const Record& record) {
  JsonObject out = {{"wdelta_record", 1},
                    {"history", record.history},
                    {"writer", record.writer},
                    {"previous", Digest(record.previous)}};
  out.Append(EntryFields(record.entry));
  out.Append({{"layout", Hex(record.layout)},
              {"base_state", Digest(record.base_state)},
              {"base_fingerprint", Digest(record.base_fingerprint)},
              {"bytes_changed", record.totals.bytes_changed},
              {"tensors_total", record.totals.tensors_total},
              {"tensors_changed", record.totals.tensors_changed},
              {"tensors_added", record.totals.tensors_added},
              {"tensors_removed", record.totals.tensors_removed},
              {"files_changed", record.totals.files_changed},
              {"earlier", JsonList(record.earlier,
                                   [](const RecordEntry& entry) {
                                     JsonObject item = EntryFields(entry);
                                     item.Set("record", Hex(entry.record));
                                     return item;
                                   })},
              {"before", Digest(record.before)},
              {"signatures", JsonValue::FromJson("[]")}});
  std::string text = out.Text();
  text.pop_back();  // the brace
  return text + RecordCheck(text);
}

std::string RecordCheck(std::string_view text) {
  return ",\"check\":\"" + Hex(DigestSha256(AsBytes(text))).substr(0, 16) + "\"}\n";
}

std::string AddedWayText(const AddedWay& added) {
  const JsonObject out = {{"wdelta_way", 1},        {"history", added.history},  {"number", added.number},
                          {"from", added.way.from}, {"state", Hex(added.state)}, {"objects", Objects(added.way)}};
  return out.Text() + '\n';
}

std::string TipHintText(const TipHint& hint) {
  const auto pair_of = [](const auto& jump) { return std::vector<uint64_t>{jump.first, jump.second}; };
  const JsonObject out = {
      {"wdelta_tip", 1}, {"number", hint.number}, {"anchors", hint.anchors}, {"jumps", JsonList(hint.jumps, pair_of)}};
  return out.Text() + '\n';
}

std::string TagText(const Tag& tag) {
  const JsonObject out = {{"wdelta_tag", 1}, {"number", tag.number}, {"state", Hex(tag.state)}};
  return out.Text() + '\n';
}

std::string RecordKey(uint64_t number) {
  return fmt::format("{}{:012}.json", kRecordPrefix, number);
}

std::optional<uint64_t> RecordNumberOf(std::string_view key) {
  const std::string_view prefix = kRecordPrefix, suffix = ".json";
  if (key.size() != prefix.size() + 12 + suffix.size() || !key.starts_with(prefix) || !key.ends_with(suffix)) {
    return std::nullopt;
  }
  return WholeNumber(key.substr(prefix.size(), 12));
}

std::string ObjectKey(const Sha256Digest& sha256) {
  const std::string hex = Hex(sha256);
  return kObjectPrefix + hex.substr(0, 2) + "/" + hex;
}

std::string AddedWayKey(uint64_t number, uint64_t from) {
  return kWayPrefix + fmt::format("{:012}", number) +
         (from == 0 ? "/anchor.json" : "/from-" + fmt::format("{:012}", from) + ".json");
}

std::string TagKey(std::string_view name) {
  return kTagPrefix + std::string(name) + ".json";
}

}  // namespace wdelta
