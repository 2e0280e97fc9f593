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

std::string ObjectsJson(const Way& way) {
  std::vector<std::string> items;
  for (const ObjectRef& object : way.objects) {
    JsonObject item;
    item.SetText("sha256", Hex(object.sha256));
    item.SetNumber("bytes", object.bytes);
    items.push_back(item.Text());
  }
  return JsonArray(items);
}

void SetWay(JsonObject& out, std::string_view key, const std::optional<Way>& way) {
  out.SetJson(key, way ? ObjectsJson(*way) : "null");
}

void SetEntry(JsonObject& out, const RecordEntry& entry) {
  out.SetNumber("number", entry.number);
  out.SetText("state", Hex(entry.state));
  out.SetText("fingerprint", Hex(entry.fingerprint));
  out.SetKnownNumber("step", entry.step);
  out.SetNumber("created", entry.created);
  SetWay(out, "delta", entry.delta);
  SetWay(out, "anchor", entry.anchor);
  out.SetNumber("elements_total", entry.elements_total);
  out.SetNumber("elements_changed", entry.elements_changed);
  out.SetNumber("bytes_total", entry.bytes_total);
}

void SetDigest(JsonObject& out, std::string_view key, const Sha256Digest& digest) {
  out.SetKnownText(key, digest == Sha256Digest{} ? "" : Hex(digest));
}

}  // namespace

std::string RecordText(const Record& record) {
  JsonObject out;
  out.SetNumber("wdelta_record", 1);
  out.SetText("history", record.history);
  out.SetText("writer", record.writer);
  SetDigest(out, "previous", record.previous);
  SetEntry(out, record.entry);
  out.SetText("layout", Hex(record.layout));
  SetDigest(out, "base_state", record.base_state);
  SetDigest(out, "base_fingerprint", record.base_fingerprint);
  out.SetNumber("bytes_changed", record.totals.bytes_changed);
  out.SetNumber("tensors_total", record.totals.tensors_total);
  out.SetNumber("tensors_changed", record.totals.tensors_changed);
  out.SetNumber("tensors_added", record.totals.tensors_added);
  out.SetNumber("tensors_removed", record.totals.tensors_removed);
  out.SetNumber("files_changed", record.totals.files_changed);
  std::vector<std::string> earlier;
  for (const RecordEntry& entry : record.earlier) {
    JsonObject item;
    SetEntry(item, entry);
    item.SetText("record", Hex(entry.record));
    earlier.push_back(item.Text());
  }
  out.SetJson("earlier", JsonArray(earlier));
  SetDigest(out, "before", record.before);
  out.SetJson("signatures", "[]");
  std::string text = out.Text();
  text.pop_back();  // the brace
  return text + RecordCheck(text);
}

std::string RecordCheck(std::string_view text) {
  return ",\"check\":\"" + Hex(DigestSha256(AsBytes(text))).substr(0, 16) + "\"}\n";
}

std::string AddedWayText(const AddedWay& added) {
  JsonObject out;
  out.SetNumber("wdelta_way", 1);
  out.SetText("history", added.history);
  out.SetNumber("number", added.number);
  out.SetNumber("from", added.way.from);
  out.SetText("state", Hex(added.state));
  out.SetJson("objects", ObjectsJson(added.way));
  return out.Text() + '\n';
}

std::string TipHintText(const TipHint& hint) {
  JsonObject out;
  out.SetNumber("wdelta_tip", 1);
  out.SetNumber("number", hint.number);
  std::vector<std::string> anchors, jumps;
  for (const uint64_t number : hint.anchors) anchors.push_back(std::to_string(number));
  for (const auto& [from, to] : hint.jumps) jumps.push_back(JsonArray({std::to_string(from), std::to_string(to)}));
  out.SetJson("anchors", JsonArray(anchors));
  out.SetJson("jumps", JsonArray(jumps));
  return out.Text() + '\n';
}

std::string TagText(const Tag& tag) {
  JsonObject out;
  out.SetNumber("wdelta_tag", 1);
  out.SetNumber("number", tag.number);
  out.SetText("state", Hex(tag.state));
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
