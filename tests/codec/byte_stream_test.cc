#include "codec/byte_stream.h"

#include "codec/zstd_frame.h"
#include "support/expect.h"
#include "support/random_checkpoint.h"

namespace wdelta {
namespace {

Bytes Put(const Bytes& content) {
  Bytes out;
  PutByteStream(content, 1, out);
  return out;
}

Result<Bytes> Take(const Bytes& stream, uint64_t limit) {
  ByteReader in(stream);
  WD_ASSIGN(Bytes content, TakeByteStream(in, limit));
  WD_TRY(in.ExpectEnd());
  return content;
}

TEST_CASE("a stream takes the smallest of its three forms and comes back the same") {
  Dice dice(3);
  Bytes repetitive;
  for (int i = 0; i < 1000; ++i) repetitive.push_back(static_cast<uint8_t>(i % 5));
  const std::pair<Bytes, int> cases[] = {
      {{}, 0}, {{7}, 0}, {Bytes(2, 7), 1}, {Bytes(100000, 0), 1}, {RandomBytes(dice, 300), 0}, {repetitive, 2}};
  for (const auto& [content, form] : cases) {
    const Bytes stream = Put(content);
    ByteReader in(stream);
    CHECK(*in.Varint() == content.size());
    CHECK(*in.Fixed<uint8_t>() == form);
    const auto taken = Take(stream, content.size());
    REQUIRE_OK(taken);
    CHECK(*taken == content);
  }
}

TEST_CASE("streams stand one after the other") {
  Bytes out;
  PutByteStream(Bytes{1, 2}, 1, out);
  PutByteStream(Bytes(50, 9), 1, out);
  ByteReader in(out);
  CHECK(*TakeByteStream(in, 2) == Bytes{1, 2});
  CHECK(*TakeByteStream(in, 50) == Bytes(50, 9));
  CHECK(in.left() == 0);
}

TEST_CASE("a stream with more content than can be is refused before it is made") {
  CHECK_FAILS(Take(Put(Bytes(100, 1)), 99), ErrorKind::kIntegrity, "at most 99");
  ByteWriter huge;
  huge.Varint(~uint64_t{0});
  huge.Fixed<uint8_t>(1);
  huge.Fixed<uint8_t>(0);
  CHECK_FAILS(Take(huge.Take(), 1000), ErrorKind::kIntegrity, "at most 1000");
}

TEST_CASE("a stream that is cut short, has an unknown form or a wrong frame is refused") {
  Bytes repetitive(4000, 1);
  repetitive[2000] = 2;
  const Bytes stream = Put(repetitive);
  for (size_t length = 0; length < stream.size(); ++length) {
    CHECK_FALSE(Take(Bytes(stream.begin(), stream.begin() + static_cast<ptrdiff_t>(length)), 4000).ok());
  }
  CHECK_FAILS(Take({3, 3, 1}, 10), ErrorKind::kIntegrity, "form");
  Bytes longer = stream;  // says one byte more than its frame holds
  longer[0] += 1;
  CHECK_FAILS(Take(longer, 5000), ErrorKind::kIntegrity, "zstd frame");
}

TEST_CASE("a zstd frame is taken only alone and of the length that is expected") {
  const Bytes content(1000, 5);
  Bytes frame;
  ZstdCompress(content, 3, frame);
  Bytes out(1000);
  REQUIRE_OK(ZstdDecompress(frame, out));
  CHECK(out == content);
  Bytes shorter(999), two = frame, skippable = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};
  CHECK_FAILS(ZstdDecompress(frame, shorter), ErrorKind::kIntegrity, "not one zstd frame");
  two.insert(two.end(), frame.begin(), frame.end());
  CHECK_FAILS(ZstdDecompress(two, out), ErrorKind::kIntegrity, "not one zstd frame");
  skippable.insert(skippable.end(), frame.begin(), frame.end());
  CHECK_FAILS(ZstdDecompress(skippable, out), ErrorKind::kIntegrity, "not one zstd frame");
  CHECK_FAILS(ZstdDecompress({}, out), ErrorKind::kIntegrity, "not one zstd frame");
}

}  // namespace
}  // namespace wdelta
