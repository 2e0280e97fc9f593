#include "foreign/canonical_index.h"

#include <algorithm>
#include <cstdio>

#include "support/expect.h"
#include "support/random_checkpoint.h"

namespace wdelta {

namespace {

// JSON by chance: any white space, any order, any values, as other programs may write an index.
class RandomIndex {
 public:
  explicit RandomIndex(Dice& dice) : dice_(dice) {}

  std::string Text(bool has_metadata, bool has_version) {
    std::vector<std::string> members;
    for (uint64_t left = dice_.Below(3); left > 0; --left) members.push_back(Member(Name(left), Value(0)));
    members.push_back(Member("\"weight_map\"", Object({Member("\"w\"", "\"a.safetensors\"")})));
    if (has_metadata) {
      std::vector<std::string> metadata;
      for (uint64_t left = dice_.Below(4); left > 0; --left) metadata.push_back(Member(Name(left), Value(0)));
      if (has_version) metadata.push_back(Member(VersionKey(), Value(0)));
      members.push_back(Member("\"metadata\"", Object(std::move(metadata))));
    }
    return Space() + Object(std::move(members)) + Space();
  }

 private:
  std::string Space() {
    std::string space;
    if (dice_.OneIn(2)) return space;
    for (uint64_t left = dice_.Below(4); left > 0; --left) space += " \n\t\r"[dice_.Below(4)];
    return space;
  }
  std::string Object(std::vector<std::string> members) {
    for (size_t i = members.size(); i > 1; --i) std::swap(members[i - 1], members[dice_.Below(i)]);
    std::string text = "{" + (members.empty() ? Space() : "");
    for (size_t i = 0; i < members.size(); ++i) text += (i ? "," : "") + members[i];
    return text + "}";
  }
  std::string Member(const std::string& key, const std::string& value) {
    return Space() + key + Space() + ":" + Space() + value + Space();
  }
  // The same one is never chosen twice for one object.
  std::string Name(uint64_t number) {
    const std::vector<std::string> like = {"total_size", "versions",        "Version",
                                           "a version",  "\\\"version\\\"", "\\u00e9"};
    return "\"" + dice_.Pick(like) + std::to_string(number) + "\"";
  }
  std::string VersionKey() { return dice_.OneIn(3) ? "\"vers\\u0069on\"" : "\"version\""; }
  std::string Value(unsigned depth) {
    const std::vector<std::string> plain = {"1",    "\"\"", "null",   "\"000007\"", "\"metadata\": {\\\"version\\\"",
                                            "-1e9", "[]",   "\",}\"", "true",       "\"\\u0041\""};
    const std::string chosen = dice_.Pick(plain);
    if (depth < 2 && dice_.OneIn(4)) {
      return Object({Member("\"version\"", Value(depth + 1)), Member("\"metadata\"", Value(depth + 1))});
    }
    return std::count(chosen.begin(), chosen.end(), '"') % 2 || chosen[0] == '"' ? Quoted(chosen) : chosen;
  }
  static std::string Quoted(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + "\"";
  }

  Dice& dice_;
};

std::string VersionIn(const std::string& text) {
  const Result<CanonicalIndex> index = ReadCanonicalIndex(text);
  REQUIRE_OK(index);
  return index->Value("version");
}

}  // namespace

TEST_CASE("an index is read: texts and numbers of its metadata, and which shard each tensor is in") {
  const Result<CanonicalIndex> index = ReadCanonicalIndex(
      R"({"metadata": {"version": "000002", "delta_encoding": "xor", "total_size": 12, "more": {"version": "9"}},
          "other": [1, {"weight_map": {}}], "weight_map": {"b": "2.safetensors", "a": "1.safetensors", "c": "2.safetensors"}})");
  REQUIRE_OK(index);
  CHECK(index->Value("version") == "000002");
  CHECK(index->Value("total_size") == "12");
  CHECK(index->Value("more").empty());
  CHECK(index->Value("base_version").empty());
  CHECK(index->is_delta());
  CHECK(index->weight_map.size() == 3);
  CHECK(index->Shards() == std::vector<std::string>{"1.safetensors", "2.safetensors"});
}

TEST_CASE("an index without metadata is that of a whole checkpoint") {
  const Result<CanonicalIndex> index = ReadCanonicalIndex(R"({"weight_map": {}})");
  REQUIRE_OK(index);
  CHECK_FALSE(index->is_delta());
  CHECK(index->Shards().empty());
}

TEST_CASE("what is no index is refused") {
  for (const char* text :
       {"", " ", "[]", "{", "{}", "null", R"({"metadata": {}})", R"({"weight_map": []})", R"({"weight_map": {"a": 1}})",
        R"({"weight_map": {"a": "x", "a": "y"}})", R"({"weight_map": {}} x)", R"({"metadata": [], "weight_map": {}})",
        R"({"metadata": {"a": "1", "a": "2"}, "weight_map": {}})", R"({"weight_map": {}, "weight_map": {}})",
        "{\"weight_map\": {\"\xff\": \"x\"}}", "\xef\xbb\xbf{\"weight_map\": {}}"}) {
    CAPTURE(text);
    const Result<CanonicalIndex> index = ReadCanonicalIndex(text);
    REQUIRE_FALSE(index.ok());
    CHECK(index.error().kind == ErrorKind::kIntegrity);
  }
}

TEST_CASE("a version is put in where others look for it, and every other byte stays") {
  const auto with = [](const char* text) {
    const Result<std::string> result = WithVersion(text, "000007");
    REQUIRE_OK(result);
    return *result;
  };
  CHECK(with(R"({"metadata": {"total_size": 1}, "weight_map": {}})") ==
        R"({"metadata": {"version": "000007","total_size": 1}, "weight_map": {}})");
  CHECK(with(R"({"metadata": {}})") == R"({"metadata": {"version": "000007"}})");
  for (const char* text : {R"({"weight_map": {}})", R"({"metadata": {"version": "1"}, "weight_map": {}})",
                           R"({"weight_map": {}, "metadata": {"a": "b" , "version" : 1 }})",
                           R"({"weight_map": {}, "metadata": {"a": "b", "version": {"version": "2"}, "c": "d"}})",
                           R"({"version": "1", "weight_map": {"version": "x"}})"}) {
    CAPTURE(text);
    CHECK(VersionIn(with(text)) == "000007");
  }
}

TEST_CASE("a version is taken out from the beginning, the middle and the end of the metadata") {
  const auto without = [](const char* text) {
    const Result<std::string> result = WithoutVersion(text);
    REQUIRE_OK(result);
    return *result;
  };
  CHECK(without(R"({"metadata": {"version": "1","a": "b"}})") == R"({"metadata": {"a": "b"}})");
  CHECK(without(R"({"metadata": {"a": "b", "version": "1", "c": 1}})") == R"({"metadata": {"a": "b", "c": 1}})");
  CHECK(without(R"({"metadata": {"a": "b", "version": "1" }})") == R"({"metadata": {"a": "b" }})");
  CHECK(without(R"({"metadata": {"version": "1"}})") == R"({"metadata": {}})");
  CHECK(without("{\"metadata\": {\"version\": \"1\" \n, \"a\": 1}}") == R"({"metadata": { "a": 1}})");
  for (const char* text : {R"({"version": "1", "weight_map": {"version": "x"}})", R"({})", " {\t}\n",
                           R"({"metadata": {"more": {"version": "1"}}})"}) {
    CHECK(without(text) == text);  // it stands in another place, and means something else there
  }
}

TEST_CASE("neither way takes what is no JSON object, or metadata that are none") {
  for (const char* text : {"", "{", "[]", "null", "{} {}", R"({"metadata": []})", R"({"metadata": "x"})",
                           R"({"metadata": {"version": "1", "version": "2"}})", R"({"metadata": {}, "metadata": {}})",
                           R"({"metadata": {"version": "1",}})", "{\"\xff\": 1}", R"({"metadata": {"version": )"}) {
    CAPTURE(text);
    const Result<std::string> with = WithVersion(text, "000001"), without = WithoutVersion(text);
    REQUIRE_FALSE(with.ok());
    REQUIRE_FALSE(without.ok());
    CHECK(with.error().kind == ErrorKind::kIntegrity);
    CHECK(without.error().kind == ErrorKind::kIntegrity);
  }
  CHECK_FALSE(WithVersion(std::string(100'000, '{'), "000001").ok());
  CHECK_FALSE(WithVersion("{\"a\":" + std::string(100'000, '['), "000001").ok());
}

TEST_CASE("a version that was put into any index comes out again, and leaves the text as it was") {
  const uint64_t first_seed = std::random_device{}();
  std::printf("indices: 3000 rounds from seed %llu\n", static_cast<unsigned long long>(first_seed));
  for (uint64_t round = 0; round < 3000; ++round) {
    const uint64_t seed = first_seed + round;
    CAPTURE(seed);
    Dice dice(seed);
    const bool has_metadata = !dice.OneIn(4), has_version = dice.OneIn(3);
    const std::string text = RandomIndex(dice).Text(has_metadata, has_version);
    CAPTURE(text);
    const Result<std::string> with = WithVersion(text, "000042");
    REQUIRE_OK(with);
    CAPTURE(*with);
    CHECK(VersionIn(*with) == "000042");
    const Result<std::string> without = WithoutVersion(*with), plain = WithoutVersion(text);
    REQUIRE_OK(without);
    REQUIRE_OK(plain);
    CHECK(*without == *plain);
    if (!has_version) CHECK(*without == text);
    if (!has_version) CHECK(*plain == text);
    const Result<std::string> again = WithVersion(*with, "000042");
    REQUIRE_OK(again);
    CHECK(*again == *with);
    CHECK(ReadCanonicalIndex(*plain)->weight_map == ReadCanonicalIndex(text)->weight_map);
  }
}

}  // namespace wdelta
