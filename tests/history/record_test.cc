#include "history/record.h"

#include "support/expect.h"
#include "support/made_history.h"

namespace wdelta {

namespace {

Result<Record> Reparse(const Record& record) {
  return ParseRecord(AsBytes(RecordText(record)), record.entry.number);
}

// The text with something else in it, and the checksum that then belongs to it.
std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  text.resize(text.size() - RecordCheck("").size());
  return text + RecordCheck(text);
}

}  // namespace

TEST_CASE("a record that is written and read is the same record") {
  for (const Record& record : MadeHistory(40)) {
    const Result<Record> read = Reparse(record);
    REQUIRE_OK(read);
    CHECK(RecordText(*read) == RecordText(record));
    CHECK(read->entry == record.entry);
    CHECK(read->earlier == record.earlier);
  }
}

TEST_CASE("the records that a record repeats are those of its thirty-two, or as many as its lowest bit says") {
  const std::pair<uint64_t, uint64_t> expected[] = {
      {1, 1},   {2, 1},   {7, 1},    {16, 1},  {32, 1},    {33, 33},   {34, 33},    {64, 1},
      {96, 65}, {128, 1}, {100, 97}, {512, 1}, {544, 513}, {576, 513}, {1024, 513}, {1 << 20, (1 << 20) - 511}};
  for (const auto& [number, first] : expected) CHECK(FirstCovered(number) == first);
}

TEST_CASE("from any record a walk back over five hundred takes at most six reads") {
  for (uint64_t start = 501; start < 5000; ++start) {
    unsigned reads = 0;
    for (uint64_t number = start; number > start - 500; number = FirstCovered(number) - 1) ++reads;
    REQUIRE(reads <= 6);
  }
}

TEST_CASE("a record that does not hang together is refused") {
  const std::vector<Record> history = MadeHistory(20);
  const auto refused = [&](Record record, const std::string& words) {
    CHECK_FAILS(Reparse(record), ErrorKind::kIntegrity, words);
  };
  Record changed = history[4];
  changed.entry.delta.reset();
  refused(changed, "neither delta nor anchor");
  changed = history[4];
  changed.previous = {};
  refused(changed, "the record before is not named");
  changed = history[4];
  changed.previous = MadeDigest("other", 1);
  refused(changed, "two digests");
  changed = history[4];
  changed.base_state = {};
  refused(changed, "a delta without its base");
  changed = history[4];
  changed.earlier.pop_back();
  refused(changed, "earlier records");
  changed = history[4];
  changed.earlier[1].number = 9;
  refused(changed, "says that it is 9");
  changed = history[4];
  changed.entry.state = {};
  refused(changed, "has no state");
  changed = history[4];
  changed.entry.delta->objects[0].bytes = kMaxObjectBytes + 1;
  refused(changed, "an object of");
  changed = history[4];
  changed.entry.delta->objects.clear();
  refused(changed, "a pack without objects");
  changed = history[4];
  changed.before = MadeDigest("other", 1);
  refused(changed, "a walk reads next");
  changed = history[0];
  std::swap(changed.entry.anchor, changed.entry.delta);
  changed.base_state = MadeDigest("state", 0);
  refused(changed, "the first record is not an anchor");
  CHECK_FAILS(ParseRecord(AsBytes(RecordText(history[4])), 6), ErrorKind::kIntegrity, "says that it is 5");
}

TEST_CASE("a record of a later version is refused as such, and unknown fields are skipped") {
  const std::string text = RecordText(MadeHistory(2)[1]);
  const std::string newer = Replaced(text, "\"wdelta_record\":1", "\"wdelta_record\":2");
  CHECK_FAILS(ParseRecord(AsBytes(newer), 2), ErrorKind::kRefused, "version 2");
  const std::string longer = Replaced(text, "\"signatures\":[]", "\"signatures\":[{\"a\":[1,2]}],\"mood\":\"good\"");
  REQUIRE_OK(ParseRecord(AsBytes(longer), 2));
  const std::string other = Replaced(text, "\"wdelta_record\":1,", "");
  CHECK_FAILS(ParseRecord(AsBytes(other), 2), ErrorKind::kIntegrity, "no record");
}

TEST_CASE("a record with any bit flipped is refused") {
  const std::string text = RecordText(MadeHistory(3)[2]);
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    CHECK_FALSE(ParseRecord(AsBytes(flipped), 3).ok());
  }
}

TEST_CASE("a record cut off anywhere is refused") {
  const std::string text = RecordText(MadeHistory(3)[2]);
  for (size_t length = 0; length + 2 < text.size(); ++length) {
    CHECK_FALSE(ParseRecord(AsBytes(text.substr(0, length)), 3).ok());
  }
}

TEST_CASE("the small objects beside the records are read as they were written") {
  const AddedWay anchor{std::string(32, 'b'), 17, MadeDigest("state", 17), {0, {{MadeDigest("object", 1), 9}}}};
  const Result<AddedWay> read = ParseAddedWay(AsBytes(AddedWayText(anchor)));
  REQUIRE_OK(read);
  CHECK(read->number == 17);
  CHECK(read->way == anchor.way);
  CHECK(read->state == anchor.state);
  const TipHint hint{33, {1, 17, 32}, {{3, 9}, {1, 33}}};
  const Result<TipHint> read_hint = ParseTipHint(AsBytes(TipHintText(hint)));
  REQUIRE_OK(read_hint);
  CHECK(read_hint->number == 33);
  CHECK(read_hint->anchors == hint.anchors);
  CHECK(read_hint->jumps == hint.jumps);
  const Result<Tag> tag = ParseTag(AsBytes(TagText({5, MadeDigest("state", 5)})));
  REQUIRE_OK(tag);
  CHECK(tag->number == 5);
  CHECK_FAILS(ParseTag(AsBytes("{\"wdelta_tag\":1,\"number\":0,\"state\":null}")), ErrorKind::kIntegrity, "tag");
  CHECK_FAILS(ParseAddedWay(AsBytes("{\"wdelta_way\":1}")), ErrorKind::kIntegrity, "a malformed added pack");
  CHECK_FAILS(ParseTipHint(AsBytes("{\"wdelta_tip\":1,\"number\":1000000000000}")), ErrorKind::kIntegrity, "beyond");
}

TEST_CASE("the number of a record and its key tell each other") {
  CHECK(RecordKey(17) == "records/000000000017.json");
  CHECK(RecordNumberOf("records/000000000017.json") == 17);
  for (const char* key : {"records/17.json", "records/00000000001a.json", "records/000000000017",
                          "tags/000000000017.json", "records/000000000017.json/x"}) {
    CHECK_FALSE(RecordNumberOf(key));
  }
  CHECK(AddedWayKey(17, 0) == "ways/000000000017/anchor.json");
  CHECK(AddedWayKey(17, 3) == "ways/000000000017/from-000000000003.json");
}

}  // namespace wdelta
