#include "walk/journal.h"

#include <unistd.h>

#include <cerrno>
#include <set>

namespace wdelta {

namespace {

constexpr const char *kSegment = "/segment", *kReady = "/ready", *kCommit = "/commit", *kNew = "/new/",
                     *kPack = "/pack";

std::string JournalFolder(const std::string& checkpoint) {
  if (IsFolder(checkpoint)) return checkpoint + "/.wdelta-apply";
  return ParentFolder(checkpoint) + "/." + LastComponent(checkpoint) + ".wdelta-apply";
}

Result<> Remove(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return SystemError("remove", path, errno);
  return {};
}

}  // namespace

bool Journal::Exists(const std::string& path) {
  return PathExists(JournalFolder(path));
}

Journal::Journal(std::string checkpoint, std::string folder, File lock, bool durable)
    : checkpoint_(std::move(checkpoint)), folder_(std::move(folder)), durable_(durable), lock_(std::move(lock)) {
  lone_file_ = !IsFolder(checkpoint_);
}

Result<Journal> Journal::Open(const std::string& path, bool durable) {
  const std::string folder = JournalFolder(path), lock_path = folder + "/lock";
  WD_TRY(CreateFolders(folder + kNew));
  if (!PathExists(lock_path)) {
    Result<File> created = File::CreateNew(lock_path);
    if (!created.ok() && !PathExists(lock_path)) return created.TakeError();  // else somebody was faster
  }
  WD_ASSIGN(File lock, File::OpenForUpdate(lock_path));
  WD_ASSIGN(const bool locked, lock.TryLock());
  if (!locked) {
    return Error{ErrorKind::kBusy, "another process is patching '" + path + "'",
                 "wait until it is done, then run the same command again"}
        .At(path);
  }
  if (durable) WD_TRY(SyncFolder(ParentFolder(folder)));  // a journal that a power cut takes away mends nothing
  return Journal(path, folder, std::move(lock), durable);
}

std::string Journal::Target(const std::string& path) const {
  return lone_file_ ? checkpoint_ : checkpoint_ + "/" + path;
}

Result<std::string> Journal::Recover() {
  if (PathExists(folder_ + kSegment)) WD_TRY(FinishSegment());
  if (PathExists(folder_ + kCommit)) WD_TRY(CarryOut());
  if (!PathExists(folder_ + kPack)) {
    Drop();
    return std::string();
  }
  RemoveTree(folder_ + kNew);
  WD_TRY(Remove(folder_ + kCommit));
  return folder_ + kPack;
}

void Journal::Abandon() const {
  if (!has_begun_ && !PathExists(folder_ + kPack)) Drop();
}

// A record: text shard, u64 offset, u32 length, u8 unit, u8 whole, u32 positions, u32 value bytes, positions, values.
Result<> Journal::Add(const std::string& shard, uint64_t offset, uint32_t length, unsigned unit,
                      const BlockDelta& delta) {
  if (!segment_) {
    const std::string path = folder_ + kSegment + ".new";
    WD_TRY(Remove(path));
    WD_ASSIGN(segment_, File::CreateNew(path));
    segment_bytes_ = 0;
  }
  ByteWriter body;
  body.Text(shard);
  body.Fixed(offset);
  body.Fixed(length);
  body.Fixed(static_cast<uint8_t>(unit));
  body.Fixed(static_cast<uint8_t>(delta.whole));
  body.Fixed(static_cast<uint32_t>(delta.positions.size()));
  body.Fixed(static_cast<uint32_t>(delta.values.size()));
  body.Raw({reinterpret_cast<const uint8_t*>(delta.positions.data()), delta.positions.size() * sizeof(uint32_t)});
  body.Raw(delta.values);
  ByteWriter head;
  head.Fixed(static_cast<uint32_t>(body.bytes().size()));
  head.Fixed(ShortDigest(DigestBlock(body.bytes())));
  WD_TRY(segment_->WriteAt(segment_bytes_, head.bytes()));
  WD_TRY(segment_->WriteAt(segment_bytes_ + head.bytes().size(), body.bytes()));
  segment_bytes_ += head.bytes().size() + body.bytes().size();
  return {};
}

Result<> Journal::Clear() {
  if (!segment_) return {};
  const std::string path = segment_->path();
  segment_.reset();
  segment_bytes_ = 0;
  return Remove(path);
}

// From here on the checkpoint changes, and Recover goes on with it.
Result<> Journal::PublishSegment() {
  if (durable_) WD_TRY(segment_->Sync());
  const std::string path = segment_->path();
  segment_.reset();
  segment_bytes_ = 0;
  has_begun_ = true;
  return Rename(path, folder_ + kSegment, durable_);
}

// The list becomes valid before the segment goes: a crash between the two replays the segment once more, and that
// changes nothing. The other way round, a crash would leave patched shards and forget the files that belong to them.
Result<> Journal::FinishSegment() const {
  WD_TRY(Replay());
  if (PathExists(folder_ + kReady)) {
    WD_TRY(Rename(folder_ + kReady, folder_ + kCommit, durable_));
  }
  return Remove(folder_ + kSegment);
}

Result<> Journal::Flush() {
  if (!segment_) return {};
  WD_TRY(PublishSegment());
  return FinishSegment();
}

Result<> Journal::Replay() const {
  const std::string path = folder_ + kSegment;
  WD_ASSIGN(const File segment, File::OpenForRead(path));
  WD_ASSIGN(const FileIdentity identity, segment.Identify());
  std::set<std::string> touched;
  std::optional<File> target;
  Bytes block;
  for (uint64_t at = 0; at < identity.size;) {
    uint8_t head[12];
    WD_TRY(segment.ReadAt(at, head));
    const auto length = Load<uint32_t>(head);
    const auto damaged = [&] { return Error{ErrorKind::kIntegrity, "journal '" + path + "' is damaged"}; };
    if (length > identity.size - at - sizeof head) return damaged();
    Bytes body(length);
    WD_TRY(segment.ReadAt(at + sizeof head, body));
    at += sizeof head + length;
    if (ShortDigest(DigestBlock(body)) != Load<uint64_t>(head + 4)) return damaged();

    ByteReader in(body);
    BlockDelta delta;
    WD_ASSIGN(const std::string shard, in.Text());
    WD_ASSIGN(const uint64_t offset, in.Fixed<uint64_t>());
    WD_ASSIGN(const uint32_t block_length, in.Fixed<uint32_t>());
    WD_ASSIGN(const uint8_t unit, in.Fixed<uint8_t>());
    WD_ASSIGN(const uint8_t whole, in.Fixed<uint8_t>());
    WD_ASSIGN(const uint32_t count, in.Fixed<uint32_t>());
    WD_ASSIGN(const uint32_t value_bytes, in.Fixed<uint32_t>());
    WD_ASSIGN(const ByteSpan positions, in.Raw(uint64_t{count} * sizeof(uint32_t)));
    WD_ASSIGN(const ByteSpan values, in.Raw(value_bytes));
    WD_TRY(CheckShardName(shard));
    if (block_length > kBlockBytes) return damaged();
    delta.whole = whole != 0;
    delta.positions.resize(count);
    std::memcpy(delta.positions.data(), positions.data(), positions.size());
    delta.values.assign(values.begin(), values.end());

    if (!target || target->path() != Target(shard)) {
      WD_ASSIGN(target, File::OpenForUpdate(Target(shard)));
      touched.insert(Target(shard));
    }
    block.resize(block_length);
    WD_TRY(target->ReadAt(offset, block));
    WD_TRY(PatchBlock(delta, unit, block));
    WD_TRY(target->WriteAt(offset, block));
  }
  for (const std::string& file : touched) {
    WD_ASSIGN(const File patched, File::OpenForUpdate(file));
    if (durable_) WD_TRY(patched.Sync());
  }
  return {};
}

Result<File> Journal::Stage(const std::string& path, uint64_t bytes) const {
  const std::string staged = folder_ + kNew + path;
  WD_TRY(CreateFolders(ParentFolder(staged)));
  WD_TRY(Remove(staged));
  WD_ASSIGN(File file, File::CreateNew(staged));
  WD_TRY(file.Resize(bytes));
  return file;
}

Result<File> Journal::Reopen(const std::string& path) const {
  return File::OpenForUpdate(folder_ + kNew + path);
}

Result<> Journal::Commit(const std::vector<std::string>& staged, const std::vector<std::string>& removed) {
  ByteWriter list;
  for (const auto* paths : {&staged, &removed}) {
    list.Varint(paths->size());
    for (const std::string& path : *paths) list.Text(path);
  }
  if (durable_) {
    for (const std::string& path : staged) {
      WD_ASSIGN(const File file, File::OpenForRead(folder_ + kNew + path));
      WD_TRY(file.Sync());
    }
  }
  WD_TRY(WriteWholeFile(folder_ + (segment_ ? kReady : kCommit), list.bytes(), durable_));
  has_begun_ = true;
  WD_TRY(Flush());
  WD_TRY(CarryOut());
  Drop();
  return {};
}

Result<> Journal::CarryOut() const {
  WD_ASSIGN(const Bytes list, ReadWholeFile(folder_ + kCommit, uint64_t{1} << 30));
  ByteReader in(list);
  for (const bool rename : {true, false}) {
    WD_ASSIGN(const uint64_t count, in.Count());
    for (uint64_t i = 0; i < count; ++i) {
      WD_ASSIGN(const std::string path, in.Text());
      WD_TRY(CheckCompanionPath(path));
      const std::string staged = folder_ + kNew + path, target = Target(path);
      if (!rename) {
        WD_TRY(Remove(target));
        if (durable_ && PathExists(ParentFolder(target))) WD_TRY(SyncFolder(ParentFolder(target)));
      } else if (PathExists(staged)) {  // else an interrupted run has moved it already
        WD_TRY(CreateFolders(ParentFolder(target)));
        WD_TRY(Rename(staged, target, durable_));
      }
    }
  }
  return in.ExpectEnd();
}

}  // namespace wdelta
