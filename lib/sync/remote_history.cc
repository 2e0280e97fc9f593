#include "sync/remote_history.h"

#include <algorithm>

#include "core/text.h"

namespace wdelta {

namespace {

constexpr uint64_t kMaxTagBytes = 1 << 16;

// Says which object of which remote an error is about.
std::unique_ptr<Error> InObject(std::unique_ptr<Error> error, const Remote& remote, const std::string& key) {
  error->message = "'" + remote.url() + "/" + key + "': " + error->message;
  error->path = remote.url() + "/" + key;
  return error;
}

std::unique_ptr<Error> WrongObject(std::string why, const Remote& remote, const std::string& key) {
  Result<> failed = Error{ErrorKind::kIntegrity, std::move(why)};
  return InObject(failed.TakeError(), remote, key);
}

}  // namespace

Result<std::optional<Bytes>> RemoteHistory::ReadSmall(const std::string& key, uint64_t limit) {
  Result<ObjectPiece> piece = remote_.Read(key, 0, limit + 1);
  if (!piece.ok() && piece.error().kind == ErrorKind::kNotFound) return std::optional<Bytes>();
  if (!piece.ok()) return piece.TakeError();
  if (piece->bytes.size() > limit) {
    return WrongObject("longer than " + std::to_string(limit) + " bytes", remote_, key);
  }
  return std::optional<Bytes>(std::move(piece->bytes));
}

template <class T>
Result<std::optional<T>> RemoteHistory::ReadParsed(const std::string& key, uint64_t limit,
                                                   Result<T> (*parse)(ByteSpan)) {
  WD_ASSIGN(const std::optional<Bytes> bytes, ReadSmall(key, limit));
  if (!bytes) return std::optional<T>();
  Result<T> parsed = parse(*bytes);
  if (!parsed.ok()) return InObject(parsed.TakeError(), remote_, key);
  return std::optional<T>(std::move(*parsed));
}

Result<TipHint> RemoteHistory::ReadHint() {
  if (hint_) return *hint_;
  WD_ASSIGN(const std::optional<Bytes> bytes, ReadSmall(kTipKey, kMaxRecordBytes));
  hint_.emplace();
  if (!bytes) return *hint_;
  if (Result<TipHint> hint = ParseTipHint(*bytes); hint.ok()) hint_ = *hint;  // else we look from the start
  return *hint_;
}

Result<uint64_t> RemoteHistory::ListTip(uint64_t known) {
  uint64_t tip = 0;
  WD_ASSIGN(const Listing records, ListAll(remote_, kRecordPrefix, known > 1 ? RecordKey(known - 1) : ""));
  for (const ObjectInfo& object : records.objects) tip = std::max(tip, RecordNumberOf(object.key).value_or(0));
  if (tip == 0 && known > 1) return ListTip(0);  // the hint was wrong
  return tip;
}

Result<uint64_t> RemoteHistory::ProbeTip(uint64_t known) {
  const auto exists = [&](uint64_t number) -> Result<bool> {
    WD_ASSIGN(const std::optional<ObjectInfo> info, remote_.Stat(RecordKey(number)));
    return info.has_value();
  };
  // Records have no gaps, so their end can be bracketed.
  uint64_t there = known, step = 1;
  for (; there + step <= kMaxRecordNumber; step *= 2) {
    WD_ASSIGN(const bool found, exists(there + step));
    if (!found) break;
    there += step;
  }
  uint64_t missing = there + step;
  while (missing - there > 1) {
    const uint64_t middle = there + (missing - there) / 2;
    WD_ASSIGN(const bool found, exists(middle));
    (found ? there : missing) = middle;
  }
  if (there == known && known > 0) {
    WD_ASSIGN(const bool found, exists(known));
    if (!found) return ProbeTip(0);  // the hint was wrong
  }
  return there;
}

Result<uint64_t> RemoteHistory::FindTip() {
  if (tip_) return *tip_;
  if (!listed_tip_) {
    WD_ASSIGN(const TipHint hint, ReadHint());
    Result<uint64_t> listed = ListTip(hint.number);
    if (!listed.ok() && !CannotList(listed.error())) return listed.TakeError();
    if (!listed.ok()) {
      WD_ASSIGN(tip_, ProbeTip(hint.number));
      return *tip_;
    }
    listed_tip_ = *listed;
  }
  // A listing may have been damaged on the way: what it names has to be there. Everybody reads that record anyway.
  tip_ = listed_tip_;
  if (*tip_ == 0) return 0;
  const Result<std::shared_ptr<const Record>> there = Read(*tip_);
  if (there.ok() || there.error().kind != ErrorKind::kNotFound) return *tip_;
  WD_ASSIGN(const uint64_t probed, ProbeTip(0));
  tip_ = probed;
  if (probed == 0 || Read(probed).ok()) return probed;
  tip_.reset();
  return Error{ErrorKind::kTransient,
               "'" + remote_.url() + "' lists record " + std::to_string(probed) + ", but cannot read it"};
}

void RemoteHistory::LookAgain() {
  tip_.reset();
  listed_tip_.reset();
}

Result<uint64_t> RemoteHistory::FindExistingTip() {
  WD_ASSIGN(const uint64_t tip, FindTip());
  if (tip > 0) return tip;
  Error error{ErrorKind::kNotFound, "'" + remote_.url() + "' holds no history"};
  error.path = remote_.url();
  error.hint = "'wdelta push CKPT " + remote_.url() + "' begins one";
  if (const Result<std::optional<ObjectInfo>> latest = remote_.Stat(kLatestKey); latest.ok() && *latest) {
    error.hint = "it holds versions for other systems, which 'wdelta pull' and 'wdelta push --format canonical' know";
  }
  return error;
}

Result<News> RemoteHistory::LookPast(uint64_t number) {
  Result<ObjectPage> page = remote_.List(kRecordPrefix, number > 1 ? RecordKey(number - 1) : "", 1000);
  if (!page.ok() && !CannotList(page.error())) return page.TakeError();
  if (!page.ok()) {
    WD_ASSIGN(const std::optional<ObjectInfo> next, remote_.Stat(RecordKey(number + 1)));
    return News{next ? SinceThen::kGrew : SinceThen::kSame, {}};
  }
  News news;
  uint64_t tip = 0;
  for (const ObjectInfo& object : page->objects) {
    const uint64_t found = RecordNumberOf(object.key).value_or(0);
    tip = std::max(tip, found);
    if (found == number) news.mark = std::to_string(object.size) + " bytes at " + std::to_string(object.modified);
  }
  if (tip < number) {  // a serious thing to say, and a listing may have been damaged on the way
    WD_ASSIGN(const std::optional<ObjectInfo> there, remote_.Stat(RecordKey(number)));
    news.since = there ? SinceThen::kGrew : SinceThen::kWentBackwards;
    return news;
  }
  if (!page->more) listed_tip_ = tip;
  news.since = tip == number ? SinceThen::kSame : SinceThen::kGrew;
  return news;
}

Result<std::shared_ptr<const Record>> RemoteHistory::Read(uint64_t number) {
  if (const auto at = records_.find(number); at != records_.end()) return at->second;
  const std::string key = RecordKey(number);
  const auto read = [&]() -> Result<Record> {
    WD_ASSIGN(const std::optional<Bytes> bytes, ReadSmall(key, kMaxRecordBytes));
    if (bytes) return ParseRecord(*bytes, number);
    return Error{ErrorKind::kNotFound, "there is no record " + std::to_string(number),
                 "'wdelta log " + remote_.url() + "' lists the records"};
  };
  Result<Record> record = read();
  if (!record.ok() && record.error().kind == ErrorKind::kIntegrity) record = read();  // damaged on the way?
  if (!record.ok()) return InObject(record.TakeError(), remote_, key);
  // What later records that were read say of it must be true.
  for (const auto& [other_number, other] : records_) {
    const uint64_t first = FirstCovered(other_number);
    std::optional<Sha256Digest> told;
    if (number + 1 == first) told = other->before;
    if (number >= first && number < other_number) told = other->earlier[number - first].record;
    if (other->history != record->history || (told && *told != record->entry.record)) {
      return WrongObject("not the record that record " + std::to_string(other_number) + " was written after", remote_,
                         key);
    }
  }
  return records_[number] = std::make_shared<const Record>(std::move(*record));
}

Result<std::vector<RecordEntry>> RemoteHistory::Entries(uint64_t first, uint64_t last) {
  std::vector<RecordEntry> entries;  // backwards for now
  for (uint64_t number = last; number >= first && number > 0;) {
    WD_ASSIGN(const std::shared_ptr<const Record> record, Read(number));
    entries.push_back(record->entry);
    for (size_t i = record->earlier.size(); i > 0 && record->earlier[i - 1].number >= first; --i) {
      entries.push_back(record->earlier[i - 1]);
    }
    number = FirstCovered(number) - 1;
  }
  std::reverse(entries.begin(), entries.end());
  return entries;
}

Result<RecordEntry> RemoteHistory::Resolve(const Revision& revision) {
  WD_ASSIGN(const uint64_t tip, FindExistingTip());
  const auto missing = [&](const std::string& what) {
    return Error{ErrorKind::kNotFound, "'" + remote_.url() + "' has no " + what,
                 "'wdelta log " + remote_.url() + "' lists the records"};
  };
  uint64_t number = 0;
  std::optional<Sha256Digest> tagged_state;
  switch (revision.kind) {
    case Revision::Kind::kHead:
      if (revision.value >= tip) return missing("record " + std::to_string(revision.value) + " before its newest");
      number = tip - revision.value;
      break;
    case Revision::Kind::kNumber:
      if (revision.value == 0 || revision.value > tip) return missing("record " + std::to_string(revision.value));
      number = revision.value;
      break;
    case Revision::Kind::kTag: {
      WD_ASSIGN(const std::optional<Tag> tag, ReadParsed(TagKey(revision.text), kMaxTagBytes, ParseTag));
      if (!tag) return missing("tag '" + revision.text + "'");
      number = tag->number;
      tagged_state = tag->state;
      break;
    }
    case Revision::Kind::kStep:
    case Revision::Kind::kState:
      for (uint64_t last = tip; last > 0 && number == 0; last = FirstCovered(last) - 1) {
        WD_ASSIGN(const std::vector<RecordEntry> entries, Entries(FirstCovered(last), last));
        for (const RecordEntry& entry : entries) {
          const bool matches = revision.kind == Revision::Kind::kStep ? entry.step == revision.value
                                                                      : Hex(entry.state).starts_with(revision.text);
          if (matches) number = entry.number;  // the newest one wins
        }
      }
      if (number == 0) {
        return missing(revision.kind == Revision::Kind::kStep ? "record of step " + std::to_string(revision.value)
                                                              : "record with a state " + revision.text + "...");
      }
      break;
  }
  WD_ASSIGN(const std::shared_ptr<const Record> record, Read(number));
  if (tagged_state && *tagged_state != record->entry.state) {
    return Error{ErrorKind::kIntegrity,
                 "tag '" + revision.text + "' was made for another state of record " + std::to_string(number)};
  }
  return record->entry;
}

// Each is named by the records that it leads from and to. Those that are not there are left out.
Result<std::vector<AddedWay>> RemoteHistory::ReadWays(const std::vector<std::pair<uint64_t, uint64_t>>& ends) {
  std::vector<AddedWay> ways;
  for (const auto& [from, to] : ends) {
    const std::string key = AddedWayKey(to, from);
    WD_ASSIGN(std::optional<AddedWay> added, ReadParsed(key, kMaxRecordBytes, ParseAddedWay));
    if (!added) continue;
    if (added->number != to || added->way.from != from) {
      return WrongObject("it is about another record", remote_, key);
    }
    ways.push_back(std::move(*added));
  }
  return ways;
}

Result<PlanInput> RemoteHistory::GatherPlan(const RecordEntry& target, const PlanScope& scope) {
  PlanInput input;
  input.have = scope.have;
  std::vector<RecordEntry> backwards;
  std::optional<TipHint> hint;
  uint64_t chain_bytes = 0;  // of the deltas so far, and of the anchor that they begin with
  bool rooted = false;       // at a state that the caller has, or at an anchor
  for (uint64_t last = target.number; last > 0 && !rooted; last = FirstCovered(last) - 1) {
    WD_ASSIGN(const std::vector<RecordEntry> entries, Entries(FirstCovered(last), last));
    for (size_t i = entries.size(); i > 0 && !rooted; --i) {
      const RecordEntry& entry = entries[i - 1];
      backwards.push_back(entry);
      rooted = scope.have(entry) || !entry.delta;
      if (!scope.have(entry)) chain_bytes += entry.delta ? entry.delta->bytes() : entry.anchor->bytes();
    }
    // A caller that has some state goes back to it, unless the deltas so far are larger than any anchor. A caller that
    // has none needs no more than the newest anchor.
    if (rooted || scope.thorough || (scope.has_any && chain_bytes < target.bytes_total)) continue;
    WD_ASSIGN(hint, ReadHint());
    for (const uint64_t number : hint->anchors) {
      rooted = rooted || (number >= backwards.back().number && number <= target.number);
    }
  }
  input.entries.assign(backwards.rbegin(), backwards.rend());
  const bool may_pay = chain_bytes * 2 > target.bytes_total;
  if (scope.thorough) {
    WD_ASSIGN(input.added, ReadAddedWays());
  } else if (hint || may_pay) {
    WD_ASSIGN(input.added, HintedWays(input.entries.front().number, target.number));
  }
  const std::string& history = records_.at(target.number)->history;
  std::erase_if(input.added, [&](const AddedWay& added) { return added.history != history; });
  return input;
}

// The newest anchor that the hint knows of in that range, and its jumps: few reads, and the most likely to pay.
Result<std::vector<AddedWay>> RemoteHistory::HintedWays(uint64_t first, uint64_t last) {
  WD_ASSIGN(const TipHint hint, ReadHint());
  std::vector<std::pair<uint64_t, uint64_t>> ends;
  const auto newest = std::find_if(hint.anchors.rbegin(), hint.anchors.rend(),
                                   [&](uint64_t number) { return number >= first && number <= last; });
  if (newest != hint.anchors.rend()) ends.emplace_back(0, *newest);
  for (const auto& [from, to] : hint.jumps) {
    if (from >= first && to <= last && from < to) ends.emplace_back(from, to);
  }
  return ReadWays(ends);
}

Result<bool> RemoteHistory::Append(const Record& record) {
  const std::string text = RecordText(record);
  if (text.size() > kMaxRecordBytes) {
    return Error{ErrorKind::kRefused, "record " + std::to_string(record.entry.number) + " would have " +
                                          std::to_string(text.size()) + " bytes, more than readers take"};
  }
  WD_ASSIGN(const WriteResult written,
            remote_.Write(RecordKey(record.entry.number), MemorySource(AsBytes(text)), WriteRule::kIfAbsent));
  LookAgain();
  return written == WriteResult::kWritten;
}

Result<> RemoteHistory::Announce(const AddedWay& added) {
  const std::string text = AddedWayText(added);
  WD_TRY(remote_.Write(AddedWayKey(added.number, added.way.from), MemorySource(AsBytes(text)), WriteRule::kIfAbsent));
  return {};
}

std::optional<std::string> RemoteHistory::MoveHint(uint64_t number, std::optional<uint64_t> anchor) {
  const auto move = [&]() -> Result<> {
    hint_.reset();  // others may have moved it
    WD_ASSIGN(TipHint hint, ReadHint());
    hint.number = std::max(hint.number, number);
    if (anchor && std::find(hint.anchors.begin(), hint.anchors.end(), *anchor) == hint.anchors.end()) {
      hint.anchors.push_back(*anchor);
      std::sort(hint.anchors.begin(), hint.anchors.end());
    }
    const std::string text = TipHintText(hint);
    WD_TRY(remote_.Write(kTipKey, MemorySource(AsBytes(text)), WriteRule::kReplace));
    return {};
  };
  const Result<> moved = move();
  if (moved.ok()) return std::nullopt;
  return "the hint to the newest record was not moved: " + moved.error().message;
}

Result<std::vector<std::pair<std::string, Tag>>> RemoteHistory::ReadTags() {
  std::vector<std::pair<std::string, Tag>> tags;
  WD_ASSIGN(const Listing listing, ListAll(remote_, kTagPrefix));
  for (const ObjectInfo& object : listing.objects) {
    const std::string_view prefix = kTagPrefix, suffix = ".json";
    if (!object.key.ends_with(suffix)) continue;
    const std::string name = object.key.substr(prefix.size(), object.key.size() - prefix.size() - suffix.size());
    if (!CheckTagName(name).ok()) continue;
    WD_ASSIGN(const std::optional<Tag> tag, ReadParsed(TagKey(name), kMaxTagBytes, ParseTag));
    if (tag) tags.emplace_back(name, *tag);
  }
  return tags;
}

Result<std::vector<AddedWay>> RemoteHistory::ReadAddedWays() {
  Result<Listing> listing = ListAll(remote_, kWayPrefix);
  if (!listing.ok() && !CannotList(listing.error())) return listing.TakeError();
  if (!listing.ok()) {  // the hint knows most of them
    WD_ASSIGN(const TipHint hint, ReadHint());
    std::vector<std::pair<uint64_t, uint64_t>> ends = hint.jumps;
    for (const uint64_t number : hint.anchors) ends.emplace_back(0, number);
    return ReadWays(ends);
  }
  std::vector<AddedWay> ways;
  for (const ObjectInfo& object : listing->objects) {
    WD_ASSIGN(std::optional<AddedWay> added, ReadParsed(object.key, kMaxRecordBytes, ParseAddedWay));
    const bool is_named_right = added && AddedWayKey(added->number, added->way.from) == object.key;
    if (is_named_right) ways.push_back(std::move(*added));
  }
  return ways;
}

}  // namespace wdelta
