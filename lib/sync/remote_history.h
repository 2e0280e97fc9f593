// A history where it lies: the records of history/ read from and written to a remote. Reading needs no listing; where
// the remote can list, finding the end of the history takes one request.
//
// Every record is read at most once. Not for several threads at a time.
#pragma once

#include <map>
#include <memory>

#include "history/record.h"
#include "history/revision.h"
#include "history/route.h"
#include "remote/remote.h"

namespace wdelta {

// What became of a history since it was last read.
enum class SinceThen { kSame, kGrew, kWentBackwards };
struct News {
  SinceThen since = SinceThen::kSame;
  std::string mark;  // size and time of the record in question: another mark means another record; empty: not told
};

class RemoteHistory {
 public:
  explicit RemoteHistory(Remote& remote) : remote_(remote) {}

  Remote& remote() const { return remote_; }

  // The number of the newest record, 0 for an empty history. Begins at the hint, which may be old or missing, and looks
  // further from there.
  Result<uint64_t> FindTip();
  // Forgets where the end was: others may have gone on since.
  void LookAgain();
  // FindTip, and kNotFound if the history is empty.
  Result<uint64_t> FindExistingTip();
  // One request: did anything come after record `number`? A static mirror cannot tell that records have vanished.
  Result<News> LookPast(uint64_t number);

  Result<std::shared_ptr<const Record>> Read(uint64_t number);
  // Of the records `first` to `last`, in few reads.
  Result<std::vector<RecordEntry>> Entries(uint64_t first, uint64_t last);
  // The record that a name stands for; kNotFound if there is none.
  Result<RecordEntry> Resolve(const Revision& revision);

  // The entries up to `target`, as far back as a plan may need them: to a record that the caller has, or to an anchor;
  // and the anchors and jumps among them that were announced later, where these may pay. The caller adds `cost`.
  struct PlanScope {
    std::function<bool(const RecordEntry&)> have;
    bool has_any = false;   // `have` is true for some record
    bool thorough = false;  // read all announced ways, however many requests that takes: the cheap ones were gone
  };
  Result<PlanInput> GatherPlan(const RecordEntry& target, const PlanScope& scope);

  // Writes the record at its key. False: another push has written that number.
  Result<bool> Append(const Record& record);
  // Announces an anchor or a jump; one that is there already is success.
  Result<> Announce(const AddedWay& added);

  Result<TipHint> ReadHint();
  // Advances the hint. A push does not fail because of the hint, so trouble with it only comes back as text to note.
  std::optional<std::string> MoveHint(uint64_t number, std::optional<uint64_t> anchor);
  Result<std::vector<std::pair<std::string, Tag>>> ReadTags();
  // All anchors and jumps that were announced, by listing; by the hint where the remote cannot list.
  Result<std::vector<AddedWay>> ReadAddedWays();

 private:
  Result<uint64_t> ListTip(uint64_t known);
  Result<uint64_t> ProbeTip(uint64_t known);
  Result<std::optional<Bytes>> ReadSmall(const std::string& key, uint64_t limit);
  template <class T>
  Result<std::optional<T>> ReadParsed(const std::string& key, uint64_t limit, Result<T> (*parse)(ByteSpan));
  Result<std::vector<AddedWay>> ReadWays(const std::vector<std::pair<uint64_t, uint64_t>>& ends);
  Result<std::vector<AddedWay>> HintedWays(uint64_t first, uint64_t last);

  Remote& remote_;
  std::map<uint64_t, std::shared_ptr<const Record>> records_;
  std::optional<uint64_t> tip_, listed_tip_;
  std::optional<TipHint> hint_;
};

}  // namespace wdelta
