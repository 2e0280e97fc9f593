#include "foreign/canonical_index.h"

#include <optional>
#include <set>

#include "core/json.h"
#include "core/text.h"

namespace wdelta {

namespace {

// Of the metadata numbers count as texts, too, because some write versions so; what else is there is passed over.
Result<std::map<std::string, std::string>> ReadTexts(JsonReader& json, std::string_view text, bool is_metadata) {
  std::map<std::string, std::string> texts;
  WD_TRY(json.Object([&](std::string_view key) -> Result<> {
    const std::string name(key);
    WD_ASSIGN(const JsonReader::Type type, json.Peek());
    if (type == JsonReader::Type::kString || !is_metadata) return json.Into(texts[name]);
    const size_t begin = json.position();
    WD_TRY(json.Skip());
    if (type == JsonReader::Type::kNumber) texts[name] = text.substr(begin, json.position() - begin);
    return {};
  }));
  return texts;
}

// How the metadata begin that an index without any is given. The space tells them from metadata that were there, where
// the version is put right after the brace.
constexpr std::string_view kMadeMetadata = "\"metadata\": { ";

// Where things are in the text of an index.
struct Places {
  size_t inside = 0;               // right after the first brace
  bool empty = true;               // nothing is in those braces
  std::optional<size_t> metadata;  // right after its brace
  bool metadata_empty = true;
  std::optional<std::pair<size_t, size_t>> version;  // what to take out, a comma included
};

// The place from `begin` on, with the comma that follows.
std::pair<size_t, size_t> WithComma(std::string_view text, size_t begin, size_t end) {
  const size_t next = text.find_first_not_of(" \n\t\r", end);
  return {begin, next != std::string_view::npos && text[next] == ',' ? next + 1 : end};
}

Result<> FindInMetadata(JsonReader& json, std::string_view text, Places& places) {
  WD_TRY(json.BeginObject());
  places.metadata = json.position();
  bool is_alone = true;
  for (size_t before = json.position();; before = json.position()) {
    WD_ASSIGN(const std::optional<std::string_view> key, json.NextKey());
    if (!key) break;
    const bool is_first = places.metadata_empty, is_version = *key == "version";
    places.metadata_empty = false;
    is_alone = is_first;
    WD_TRY(json.Skip());
    if (!is_version) continue;
    const size_t end = json.position();
    places.version = is_first ? WithComma(text, before, end) : std::pair(before, end);
  }
  const bool is_made = is_alone && places.version && text.substr(places.inside).starts_with(kMadeMetadata);
  if (is_made) places.version = WithComma(text, places.inside, json.position());
  return {};
}

Result<Places> FindPlaces(std::string_view text) {
  if (!ValidUtf8(AsBytes(text))) return Error{ErrorKind::kIntegrity, "the index is not UTF-8"};
  Places places;
  places.inside = text.find('{') + 1;
  JsonReader json(text);
  WD_TRY(json.Object([&](std::string_view key) -> Result<> {
    places.empty = false;
    return key == "metadata" ? FindInMetadata(json, text, places) : json.Skip();
  }));
  WD_TRY(json.End());
  return places;
}

}  // namespace

std::string CanonicalIndex::Value(const std::string& key) const {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string() : found->second;
}

std::vector<std::string> CanonicalIndex::Shards() const {
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : weight_map) shards.insert(shard);
  return {shards.begin(), shards.end()};
}

Result<CanonicalIndex> ReadCanonicalIndex(std::string_view text) {
  if (!ValidUtf8(AsBytes(text))) return Error{ErrorKind::kIntegrity, "its index is not UTF-8"};
  CanonicalIndex index;
  bool has_map = false;
  JsonReader json(text);
  WD_TRY(json.Object([&](std::string_view key) -> Result<> {
    const bool is_metadata = key == "metadata";
    if (!is_metadata && key != "weight_map") return json.Skip();
    has_map |= !is_metadata;
    WD_ASSIGN((is_metadata ? index.metadata : index.weight_map), ReadTexts(json, text, is_metadata));
    return {};
  }));
  WD_TRY(json.End());
  if (!has_map) return Error{ErrorKind::kIntegrity, "its index has no weight_map"};
  return index;
}

Result<std::string> WithoutVersion(std::string_view text) {
  WD_ASSIGN(const Places places, FindPlaces(text));
  std::string without(text);
  if (places.version) without.erase(places.version->first, places.version->second - places.version->first);
  return without;
}

Result<std::string> WithVersion(std::string_view text, std::string_view version) {
  WD_ASSIGN(std::string result, WithoutVersion(text));
  WD_ASSIGN(const Places places, FindPlaces(result));
  std::string member = "\"version\": ";
  AppendJsonString(version, &member);
  if (places.metadata) return result.insert(*places.metadata, member + (places.metadata_empty ? "" : ","));
  return result.insert(places.inside, std::string(kMadeMetadata) + member + (places.empty ? "}" : "},"));
}

}  // namespace wdelta
