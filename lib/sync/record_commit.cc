#include "sync/record_commit.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "core/stopwatch.h"
#include "sync/gc_fence.h"

namespace wdelta {

namespace {

Record NextRecord(const Record* tip, const ReadyPack& pack, const SpooledPush& spool) {
  Record record;
  record.history = tip ? tip->history : RandomHex(16);
  record.writer = spool.writer;
  if (tip) record.previous = tip->entry.record;
  RecordEntry& entry = record.entry;
  entry.number = tip ? tip->entry.number + 1 : 1;
  entry.state = pack.result().state;
  entry.fingerprint = pack.result().fingerprint;
  entry.step = spool.step;
  entry.created = static_cast<uint64_t>(std::time(nullptr));
  entry.elements_total = pack.totals().elements_total;
  entry.elements_changed = pack.totals().elements_changed;
  entry.bytes_total = pack.totals().bytes_total;
  (pack.anchor() ? entry.anchor : entry.delta) = pack.AsWay(pack.anchor() ? 0 : entry.number - 1);
  record.layout = pack.result().layout;
  record.base_state = pack.base().state;
  record.base_fingerprint = pack.base().fingerprint;
  record.totals = pack.totals();
  return record;
}

// The objects of a pack in the store, and pins on those that were there before: until the record that needs them is
// written, nothing else keeps gc from removing these.
struct Sent {
  uint64_t bytes = 0;
  Pins pins;
};
Result<Sent> SendAndPin(Remote& remote, const ReadyPack& pack, unsigned jobs, const Context& context) {
  WD_ASSIGN(const Uploaded uploaded, UploadPack(remote, pack, jobs, context));
  WD_ASSIGN(Pins pins, Pins::Put(remote, uploaded.reused, context));
  WD_TRY(SendMissing(remote, pack, uploaded.reused));
  return Sent{uploaded.bytes, std::move(pins)};
}

void RemoveProbe(Remote& remote, const std::string& key, const NoteSink& note) {
  if (const Result<> removed = remote.Remove(key); !removed.ok()) {
    note("'" + remote.url() + "/" + key + "' could not be removed: " + removed.error().message);
  }
}

}  // namespace

Result<std::optional<Committed>> CommitPack(RemoteHistory& history, const Record* tip, const ReadyPack& pack,
                                            const SpooledPush& spool, bool single_writer, unsigned jobs,
                                            const Context& context) {
  Remote& remote = history.remote();
  Committed committed;
  Stopwatch watch;
  WD_ASSIGN(const Sent sent, SendAndPin(remote, pack, jobs, context));
  committed.wire_bytes = sent.bytes;
  committed.upload_seconds = watch.seconds();

  watch = Stopwatch();
  Record record = NextRecord(tip, pack, spool);
  const uint64_t number = record.entry.number;
  if (number > 1) {
    const uint64_t first = FirstCovered(number);
    WD_ASSIGN(record.earlier, history.Entries(std::max<uint64_t>(first, 2) - 1, number - 1));
    if (first > 1) {
      record.before = record.earlier.front().record;
      record.earlier.erase(record.earlier.begin());
    }
  }
  if (single_writer) {  // the store may not notice by itself
    WD_ASSIGN(const std::optional<ObjectInfo> there, remote.Stat(RecordKey(number)));
    if (there) return std::optional<Committed>();
  }
  WD_ASSIGN(const bool won, history.Append(record));
  if (!won) return std::optional<Committed>();
  // A push that stood still for longer than gc's grace period has lost its objects. From now on the record keeps them.
  WD_TRY(SendMissing(remote, pack, pack.objects()));
  if (const auto trouble = history.MoveHint(number, std::nullopt)) context.note(*trouble);
  committed.commit_seconds = watch.seconds();
  const std::string text = RecordText(record);
  WD_ASSIGN(record, ParseRecord(AsBytes(text), number));
  committed.record = std::make_shared<const Record>(std::move(record));
  return std::optional(std::move(committed));
}

Result<uint64_t> AddAnchor(RemoteHistory& history, const Record& record, const Checkpoint& source,
                           const std::string& scratch, unsigned jobs, const Context& context, uint64_t* wire_bytes) {
  const RecordEntry& entry = record.entry;
  const auto add = [&]() -> Result<uint64_t> {
    WD_ASSIGN(const ReadyPack pack, WritePack(nullptr, source, scratch, Level::kDefault, context));
    if (pack.result().state != entry.state) {
      return Error{ErrorKind::kConflict, "'" + source.path() + "' is no longer in the state of the record"};
    }
    WD_ASSIGN(const Sent sent, SendAndPin(history.remote(), pack, jobs, context));
    *wire_bytes += sent.bytes;
    WD_TRY(SendMissing(history.remote(), pack, pack.objects()));  // only an anchor that is all there is announced
    WD_TRY(history.Announce({record.history, entry.number, entry.state, pack.AsWay(0)}));
    if (const auto trouble = history.MoveHint(entry.number, entry.number)) context.note(*trouble);
    return pack.AsWay(0).bytes();
  };
  Result<uint64_t> added = add();
  unlink(scratch.c_str());
  if (added.ok()) return added;
  auto error = added.TakeError();
  error->message =
      "record " + std::to_string(entry.number) + " is committed, but its anchor was not added: " + error->message;
  return error;
}

Result<bool> KeepsCreateIfAbsent(Remote& remote, const NoteSink& note) {
  const std::string key = "probe/" + RandomHex(16);
  // Different bytes, so that the second write cannot be taken for the first one whose answer was lost.
  const std::string first_text = "first " + RandomHex(16) + "\n", second_text = "second " + RandomHex(16) + "\n";
  WD_ASSIGN(const WriteResult first, remote.Write(key, MemorySource(AsBytes(first_text)), WriteRule::kIfAbsent));
  WD_ASSIGN(const WriteResult second, remote.Write(key, MemorySource(AsBytes(second_text)), WriteRule::kIfAbsent));
  RemoveProbe(remote, key, note);
  return first == WriteResult::kWritten && second == WriteResult::kExists;
}

Result<bool> KeepsConditionalReplace(Remote& remote, const NoteSink& note) {
  const std::string key = "probe/" + RandomHex(16);
  const auto write = [&](const char* name, WriteRule rule, const std::string& etag) {
    const std::string text = name + (" " + RandomHex(16)) + "\n";  // different bytes each time, as above
    return remote.Write(key, MemorySource(AsBytes(text)), rule, etag);
  };
  WD_TRY(write("first", WriteRule::kReplace, {}));
  const auto replace = [&]() -> Result<bool> {
    WD_ASSIGN(const ObjectPiece first, remote.Read(key, 0, 1 << 10));
    WD_ASSIGN(const WriteResult second, write("second", WriteRule::kIfEtag, first.etag));
    WD_ASSIGN(const WriteResult third, write("third", WriteRule::kIfEtag, first.etag));
    return second == WriteResult::kWritten && third == WriteResult::kChanged;
  };
  Result<bool> keeps = replace();
  RemoveProbe(remote, key, note);  // also after a failure: a store without versions refuses only now
  return keeps;
}

Result<> WriteTag(Remote& remote, const std::string& name, const RecordEntry& entry, bool move) {
  const std::string text = TagText({entry.number, entry.state});
  WD_ASSIGN(const WriteResult written,
            remote.Write(TagKey(name), MemorySource(AsBytes(text)), move ? WriteRule::kReplace : WriteRule::kIfAbsent));
  if (written == WriteResult::kWritten) return {};
  WD_ASSIGN(const ObjectPiece there, remote.Read(TagKey(name), 0, 1 << 16));
  if (AsText(there.bytes) == text) return {};
  return Error{ErrorKind::kConflict, "there is a tag '" + name + "' already, on another record",
               "'wdelta tag --force' moves it"};
}

Result<bool> TagAndKeep(Remote& remote, const std::string& name, const RecordEntry& entry, bool move,
                        const Context& context) {
  WD_TRY(WriteTag(remote, name, entry, move));
  WD_TRY(WaitForSweeps(remote, context));
  for (const std::optional<Way>* way : {&entry.delta, &entry.anchor}) {
    bool there = way->has_value();
    for (size_t i = 0; there && i < (*way)->objects.size(); ++i) {
      WD_ASSIGN(const std::optional<ObjectInfo> info, remote.Stat(ObjectKey((*way)->objects[i].sha256)));
      there = info.has_value();
    }
    if (there) return true;
  }
  return false;
}

}  // namespace wdelta
