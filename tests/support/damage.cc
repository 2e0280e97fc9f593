// A remote promises no more than bytes. That they are the right ones is proved where they are used: an object by its
// SHA-256, a record by its checksum and by what other records say of it. There flipped bits have to be found.
#include <fstream>

#include "remote/contract.h"
#include "support/expect.h"
#include "support/faulty_remote.h"
#include "support/made_history.h"
#include "support/random_checkpoint.h"
#include "support/scratch_folder.h"
#include "sync/object_transfer.h"
#include "sync/remote_history.h"

namespace wdelta {

namespace {

constexpr uint64_t kRecords = 40, kSeeds = 12;

class Damage {
 public:
  Damage(const OpenForTest& open, const OpenForTest& open_writer) : open_(open), writer_(open_writer()) {
    for (const Record& record : records_) Store(RecordKey(record.entry.number), AsBytes(RecordText(record)));
    const std::string hint = TipHintText({kRecords - 3, {}, {}});
    Store(kTipKey, AsBytes(hint));
    Dice dice(1);
    for (const size_t size : {size_t{17} << 20, size_t{1}, size_t{5000}}) {  // the first is fetched in three pieces
      const Bytes bytes = RandomBytes(dice, size);
      way_.objects.push_back({DigestSha256(bytes), size});
      content_ += AsText(bytes);
      Store(ObjectKey(way_.objects.back().sha256), bytes);
    }
  }
  ~Damage() {
    for (const std::string& key : stored_) CHECK(writer_->Remove(key).ok());
  }

  void Run() {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      INFO("seed ", seed);
      Observe(BehindDamage(open_(), seed, 4));
    }
    INFO(right_, " right, ", refused_, " refused");
    CHECK(right_ > kSeeds);  // else nothing was tried
    CHECK(refused_ > 0);
    // If every answer is damaged nothing passes.
    const uint64_t before = right_;
    const auto always = [](std::string_view, const std::string&) { return Fault::kFlipBit; };
    const auto hopeless = WithFaults(open_(), always);
    RemoteHistory history(*hopeless);
    for (const Record& record : records_) JudgeRecord(history, record);
    JudgeObjects(*hopeless);
    CHECK(right_ == before);
  }

 private:
  void Store(const std::string& key, ByteSpan bytes) {
    stored_.push_back(key);
    REQUIRE_OK(writer_->Write(key, MemorySource(bytes), WriteRule::kReplace));
  }

  void Observe(const std::unique_ptr<Remote>& remote) {
    RemoteHistory whole(*remote);
    const Result<uint64_t> tip = whole.FindTip();
    if (Judge(tip)) CHECK(*tip == kRecords);
    for (const Record& record : records_) {
      RemoteHistory history(*remote);  // so that no other record vouches for it
      JudgeRecord(history, record);
    }
    JudgeObjects(*remote);
  }
  void JudgeRecord(RemoteHistory& history, const Record& record) {
    const auto read = history.Read(record.entry.number);
    if (Judge(read)) CHECK(RecordText(**read) == RecordText(record));
  }
  void JudgeObjects(Remote& remote) {
    const ScratchFolder folder;
    const PackStore packs(folder.path());
    uint64_t wire_bytes = 0;
    if (!Judge(packs.Fetch(remote, way_, 2, {}, &wire_bytes))) {
      CHECK_FALSE(packs.Has(way_));
      return;
    }
    std::ifstream file(packs.PathOf(way_), std::ios::binary);
    const std::string found{std::istreambuf_iterator<char>(file), {}};
    CHECK(found == content_);
  }

  // Whether it succeeded. There is one way to fail.
  template <class T>
  bool Judge(const Result<T>& result) {
    ++(result.ok() ? right_ : refused_);
    INFO(Outcome(result));
    CHECK((result.ok() || result.error().kind == ErrorKind::kIntegrity));
    return result.ok();
  }

  const OpenForTest& open_;
  const std::unique_ptr<Remote> writer_;
  const std::vector<Record> records_ = MadeHistory(kRecords);
  Way way_;
  std::string content_;
  std::vector<std::string> stored_;
  uint64_t right_ = 0, refused_ = 0;
};

}  // namespace

void CheckDamageIsFound(const OpenForTest& open, const OpenForTest& open_writer) {
  Damage(open, open_writer).Run();
}

}  // namespace wdelta
