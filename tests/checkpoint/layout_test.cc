#include "checkpoint/layout.h"

#include "support/expect.h"

namespace wdelta {
namespace {

LayoutFile Entry(const std::string& path, uint8_t content = 0) {
  return {path, 10, DigestSha256(Bytes{content}), 4};
}

Layout TwoShards() {
  Layout layout;
  layout.shards = {Entry("a.safetensors"), Entry("b.safetensors")};
  layout.companions = {Entry("config.json"), Entry("t/vocab.txt")};
  return layout;
}

TEST_CASE("the name of a shard is one harmless component that ends in .safetensors") {
  for (const char* name :
       {"model.safetensors", "model-00001-of-00002.safetensors", "größe.safetensors", "a b.safetensors"}) {
    CHECK(CheckShardName(name).ok());
  }
  using namespace std::string_view_literals;
  for (const std::string_view name :
       {""sv, "."sv, ".."sv, "model.bin"sv, ".safetensors"sv, "../a.safetensors"sv, "/a.safetensors"sv,
        "d/a.safetensors"sv, "d\\a.safetensors"sv, "a\nb.safetensors"sv, "a\0.safetensors"sv, "\x7f.safetensors"sv,
        "\xff.safetensors"sv}) {
    CAPTURE(name);
    CHECK_FAILS(CheckShardName(name), ErrorKind::kRefused, "");
  }
  CHECK(CheckShardName(std::string(243, 'x') + ".safetensors").ok());
  CHECK_FAILS(CheckShardName(std::string(244, 'x') + ".safetensors"), ErrorKind::kRefused, "255");
}

TEST_CASE("the path of a companion never leads out of its folder") {
  for (const char* path : {"config.json", "a/b/c.txt", "a..b/c...d"}) CHECK(CheckCompanionPath(path).ok());
  for (const char* path : {"", "/", "/etc/passwd", "..", "../a", "a/..", "a/../b", "a/./b", "a//b", "a/", ".hidden",
                           "a/.b/c", "a\\b", "a\tb", "\xc0\xaf"}) {
    CAPTURE(path);
    CHECK_FAILS(CheckCompanionPath(path), ErrorKind::kRefused, "");
  }
  CHECK_FAILS(CheckCompanionPath(std::string(600, 'x') + "/" + std::string(600, 'x')), ErrorKind::kRefused, "1024");
}

TEST_CASE("a layout is refused when a name is hostile, out of order, there twice, or both file and folder") {
  CHECK(CheckLayout(TwoShards()).ok());
  Layout layout = TwoShards();
  layout.shards[1].path = "../b.safetensors";
  CHECK_FAILS(CheckLayout(layout), ErrorKind::kRefused, "points outside");
  layout = TwoShards();
  std::swap(layout.shards[0], layout.shards[1]);
  CHECK_FAILS(CheckLayout(layout), ErrorKind::kIntegrity, "order");
  layout = TwoShards();
  layout.companions[1] = layout.companions[0];
  CHECK_FAILS(CheckLayout(layout), ErrorKind::kRefused, "twice");
  layout = TwoShards();
  layout.companions[0].path = "a.safetensors";  // also a shard
  CHECK_FAILS(CheckLayout(layout), ErrorKind::kRefused, "twice");
  layout = TwoShards();
  layout.companions[0].path = "a.safetensors/x";
  CHECK_FAILS(CheckLayout(layout), ErrorKind::kRefused, "both a file and a folder");
  layout.companions = {Entry("t"), Entry("t/vocab.txt")};
  CHECK_FAILS(CheckLayout(layout), ErrorKind::kRefused, "both a file and a folder");
  layout = TwoShards();
  layout.shards.clear();
  CHECK_FAILS(CheckLayout(layout), ErrorKind::kIntegrity, "without a shard");
}

TEST_CASE("the layout of a lone file has just the one shard that lone files have") {
  Layout layout;
  layout.lone_file = true;
  layout.shards = {Entry(std::string(kLoneShard))};
  CHECK(CheckLayout(layout).ok());
  layout.companions = {Entry("config.json")};
  CHECK_FAILS(CheckLayout(layout), ErrorKind::kIntegrity, "lone file");
  layout.companions.clear();
  layout.shards[0].path = "x.safetensors";
  CHECK_FAILS(CheckLayout(layout), ErrorKind::kIntegrity, "lone file");
}

TEST_CASE("the digest of a layout depends on every name, length and content") {
  const Sha256Digest digest = TwoShards().Digest();
  CHECK(digest == TwoShards().Digest());
  Layout layout = TwoShards();
  layout.shards[0].path = "c.safetensors";
  CHECK(layout.Digest() != digest);
  layout = TwoShards();
  layout.companions[1].sha256[31] ^= 1;
  CHECK(layout.Digest() != digest);
  layout = TwoShards();
  layout.shards[1].bytes += 1;
  CHECK(layout.Digest() != digest);
  layout = TwoShards();
  layout.companions.pop_back();
  CHECK(layout.Digest() != digest);
  layout = TwoShards();  // a file that changes sides is another layout
  layout.shards.push_back(layout.companions[0]);
  layout.companions.erase(layout.companions.begin());
  CHECK(layout.Digest() != digest);
}

TEST_CASE("how the companions were chosen, and whether it is a lone file, makes no other layout") {
  Layout layout = TwoShards();
  const Sha256Digest digest = layout.Digest();
  layout.include = {"*"};
  layout.lone_file = true;
  CHECK(layout.Digest() == digest);
}

}  // namespace
}  // namespace wdelta
