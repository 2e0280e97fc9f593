#include "codec/events.h"

#include <algorithm>

#include "support/expect.h"
#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

std::vector<uint32_t> SomeOf(Dice& dice, uint64_t n, uint64_t one_in) {
  std::vector<uint32_t> events;
  for (uint64_t i = 0; i < n; ++i) {
    if (dice.OneIn(one_in)) events.push_back(static_cast<uint32_t>(i));
  }
  return events;
}

std::vector<uint32_t> AllBut(uint64_t n, const std::vector<uint32_t>& others) {
  std::vector<uint32_t> events;
  auto other = others.begin();
  for (uint32_t i = 0; i < n; ++i) {
    if (other != others.end() && *other == i) {
      ++other;
    } else {
      events.push_back(i);
    }
  }
  return events;
}

Bytes Put(uint64_t n, const std::vector<uint32_t>& events) {
  Bytes bytes;
  BitWriter out(bytes);
  PutEvents(out, n, events);
  out.Finish();
  return bytes;
}

void CheckReturns(uint64_t n, const std::vector<uint32_t>& events) {
  const Bytes bytes = Put(n, events);
  BitReader in(bytes);
  const auto taken = TakeEvents(in, n);
  REQUIRE_OK(taken);
  CHECK(*taken == events);
  CHECK(in.AtEnd());
}

TEST_CASE("any choice among few things comes back") {
  for (uint64_t n = 0; n <= 10; ++n) {
    for (uint32_t set = 0; set < 1u << n; ++set) {
      std::vector<uint32_t> events;
      for (uint32_t i = 0; i < n; ++i) {
        if (set >> i & 1) events.push_back(i);
      }
      CheckReturns(n, events);
    }
  }
}

TEST_CASE("choices of every density come back, the majority as well as the minority") {
  Dice dice(31);
  for (int round = 0; round < 300; ++round) {
    const uint64_t n = 1 + dice.Below(1u << dice.Below(15));
    const auto events = SomeOf(dice, n, 1 + dice.Below(1u << dice.Below(12)));
    CheckReturns(n, events);
    CheckReturns(n, AllBut(n, events));
  }
  for (const uint64_t n : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1} << 20}) {
    const auto last = static_cast<uint32_t>(n - 1);
    CheckReturns(n, {});
    CheckReturns(n, AllBut(n, {}));
    CheckReturns(n, {last});
    CheckReturns(n, AllBut(n, {last}));
  }
}

TEST_CASE("no things cost no bits, none or all of many cost their number") {
  CHECK(Put(0, {}).empty());
  CHECK(Put(127, {}).size() == 1);
  CHECK(Put(127, AllBut(127, {})) == Bytes{127});
  CHECK(Put(128, {}).size() == 1);
}

TEST_CASE("events that cannot be are refused, and nothing is made of their number alone") {
  const auto take = [](const Bytes& bytes, uint64_t n) {
    BitReader in(bytes);
    return TakeEvents(in, n);
  };
  CHECK_FAILS(take({101}, 100), ErrorKind::kIntegrity, "more events than places");
  CHECK_FAILS(take({50}, 100), ErrorKind::kIntegrity, "ends too early");
  CHECK_FAILS(take({2, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff}, 100), ErrorKind::kIntegrity, "outside");
  const uint64_t many = uint64_t{1} << 30;
  CHECK_FAILS(take({0, 0, 0, 0x10, 0}, many), ErrorKind::kIntegrity, "ends too early");  // a fourth of them
  CHECK_FAILS(take({0, 0, 0, 0x30, 0}, many), ErrorKind::kIntegrity, "ends too early");  // all but a fourth
}

TEST_CASE("damaged events are refused or are other events in range") {
  Dice dice(32);
  for (int round = 0; round < 400; ++round) {
    const uint64_t n = 1 + dice.Below(400);
    Bytes bytes = Put(n, SomeOf(dice, n, 1 + dice.Below(20)));
    bytes[dice.Below(bytes.size())] ^= static_cast<uint8_t>(1 << dice.Below(8));
    BitReader in(bytes);
    const auto taken = TakeEvents(in, n);
    for (size_t i = 0; taken.ok() && i < taken->size(); ++i) {
      CHECK((*taken)[i] < n);
      if (i > 0) CHECK((*taken)[i] > (*taken)[i - 1]);
    }
  }
}

TEST_CASE("the Rice parameter grows with the mean gap and has an end") {
  CHECK(RiceParameter(100, 100) == 0);
  CHECK(RiceParameter(1, 1) == 0);
  CHECK(RiceParameter(100, 50) == 0);
  CHECK(RiceParameter(~uint32_t{0}, 1) == kMaxRice);
  unsigned last = kMaxRice;
  for (uint64_t m = 1; m <= 1 << 20; m *= 2) {
    const unsigned k = RiceParameter(1 << 20, m);
    CHECK(k <= last);
    CHECK(k + 1 >= last - (last == kMaxRice ? 3 : 0));
    last = k;
  }
}

TEST_CASE("active runs hold every changed element, are told alike, and leave idle ones out where changes cluster") {
  Dice dice(33);
  size_t with_runs = 0;
  for (int round = 0; round < 200; ++round) {
    const uint64_t units = 1 + dice.Below(1u << (6 + dice.Below(12)));
    const uint64_t begin = dice.Below(units), end = begin + 1 + dice.Below(units - begin), one_in = 1 + dice.Below(40);
    std::vector<uint32_t> positions;
    for (uint64_t i = begin; i < end; ++i) {
      if (dice.OneIn(one_in)) positions.push_back(static_cast<uint32_t>(i));
    }
    if (positions.empty()) positions.push_back(static_cast<uint32_t>(begin));
    Bytes bytes;
    BitWriter out(bytes);
    const auto put = PutActiveRuns(out, units, positions);
    out.Finish();
    REQUIRE(put.size() == (units + 63) / 64);
    for (const uint32_t position : positions) CHECK(put[position / 64] == ~uint64_t{0});
    for (const uint64_t word : put) CHECK((word == 0 || word == ~uint64_t{0}));
    with_runs += std::count(put.begin(), put.end(), 0) > 0;
    BitReader in(bytes);
    const auto taken = TakeActiveRuns(in, units);
    REQUIRE_OK(taken);
    CHECK(*taken == put);
    CHECK(in.AtEnd());
  }
  CHECK(with_runs > 20);
}

}  // namespace
}  // namespace wdelta
