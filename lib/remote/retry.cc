#include "remote/retry.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <random>

#include "core/sleep.h"

namespace wdelta {
namespace {

constexpr double kFirstPause = 0.1, kLongestPause = 20;  // seconds
constexpr double kLongestAskedPause = 60;                // whatever a store asks for
constexpr uint64_t kComparePiece = 1 << 20;

double RandomFraction() {
  static std::mutex mutex;
  static std::mt19937_64 engine{std::random_device{}()};
  const std::lock_guard lock(mutex);
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

class RetryingRemote final : public Remote {
 public:
  RetryingRemote(std::unique_ptr<Remote> inner, unsigned retries, const Context& context, RetryPace pace)
      : inner_(std::move(inner)), limit_(retries), note_(context.note), pace_(std::move(pace)) {
    if (!pace_.wait) pace_.wait = [stop = context.stop](double seconds) { return SleepFor(seconds, stop); };
    if (!pace_.fraction) pace_.fraction = RandomFraction;
  }

  const std::string& url() const override { return inner_->url(); }
  uint64_t retries() const override { return retries_; }
  std::vector<std::pair<std::string, std::string>> Describe() override { return inner_->Describe(); }

  Result<ObjectPiece> Read(const std::string& key, uint64_t offset, uint64_t length, const std::string& etag) override {
    return Repeat([&] { return ReadOnce(key, offset, length, etag); });
  }
  Result<WriteResult> Write(const std::string& key, const ByteSource& source, WriteRule rule,
                            const std::string& etag) override;
  Result<std::optional<ObjectInfo>> Stat(const std::string& key) override {
    return Repeat([&] { return inner_->Stat(key); });
  }
  Result<ObjectPage> List(const std::string& prefix, const std::string& after, unsigned limit) override {
    return Repeat([&] { return inner_->List(prefix, after, limit); });
  }
  Result<> Remove(const std::string& key) override {
    Result<> removed = Repeat([&] { return inner_->Remove(key); });
    if (removed.ok() || removed.error().kind != ErrorKind::kInterrupted) return removed;
    return inner_->Remove(key);  // a stop ends an attempt or the pause before it, not the tidying up
  }

 private:
  template <class Attempt>
  auto Repeat(const Attempt& attempt) -> decltype(attempt());
  Result<ObjectPiece> ReadOnce(const std::string& key, uint64_t offset, uint64_t length, const std::string& etag);
  Result<bool> Holds(const std::string& key, const ByteSource& source, std::string* seen);

  const std::unique_ptr<Remote> inner_;
  const unsigned limit_;
  const NoteSink note_;
  RetryPace pace_;
  std::atomic<uint64_t> retries_ = 0;
};

template <class Attempt>
auto RetryingRemote::Repeat(const Attempt& attempt) -> decltype(attempt()) {
  for (unsigned done = 0;; ++done) {
    auto result = attempt();
    if (result.ok() || result.error().kind != ErrorKind::kTransient || done == limit_) return result;
    const double pause = std::min(kLongestPause, kFirstPause * std::exp2(std::min(done, 30U)));
    // Not before the time that was asked for, and not all at that very moment.
    const double asked = std::clamp(result.error().retry_after, 0.0, kLongestAskedPause);
    WD_TRY(pace_.wait(asked + pace_.fraction() * pause));
    ++retries_;
    note_("retrying after: " + result.error().message);
  }
}

Result<ObjectPiece> RetryingRemote::ReadOnce(const std::string& key, uint64_t offset, uint64_t length,
                                             const std::string& etag) {
  WD_ASSIGN(ObjectPiece piece, inner_->Read(key, offset, length, etag));
  const uint64_t expected = offset < piece.size ? std::min(length, piece.size - offset) : 0;
  if (piece.bytes.size() == expected) return piece;
  return Error{ErrorKind::kTransient, "object '" + key + "' in '" + url() + "' came with " +
                                          std::to_string(piece.bytes.size()) + " bytes, expected " +
                                          std::to_string(expected)}
      .Compared(std::to_string(expected) + " bytes", std::to_string(piece.bytes.size()) + " bytes");
}

// Whether the object is what `source` says, and the version of what was `seen` there; kNotFound if there is none.
Result<bool> RetryingRemote::Holds(const std::string& key, const ByteSource& source, std::string* seen) {
  Bytes ours;
  uint64_t at = 0;
  do {
    const uint64_t length = std::min(source.size() - at, kComparePiece);
    WD_ASSIGN(const ObjectPiece theirs, Read(key, at, length, *seen));
    *seen = theirs.etag;
    if (theirs.size != source.size()) return false;
    ours.resize(length);
    WD_TRY(source.ReadAt(at, ours));
    if (ours != theirs.bytes) {  // to disown what is ours would be bad: were they damaged on the way?
      WD_ASSIGN(const ObjectPiece again, Read(key, at, length, *seen));
      if (ours != again.bytes) return false;
    }
    at += length;
  } while (at < source.size());
  return true;
}

Result<WriteResult> RetryingRemote::Write(const std::string& key, const ByteSource& source, WriteRule rule,
                                          const std::string& etag) {
  bool in_doubt = false;  // an attempt may have succeeded without our knowing
  auto result = Repeat([&] {
    auto attempt = inner_->Write(key, source, rule, etag);
    in_doubt |= !attempt.ok() && attempt.error().kind == ErrorKind::kTransient;
    return attempt;
  });
  if (rule == WriteRule::kReplace || !in_doubt) return result;
  const bool lost = result.ok() && *result != WriteResult::kWritten;
  const bool unknown = !result.ok() && result.error().kind == ErrorKind::kTransient;
  if (!lost && !unknown) return result;
  const bool if_etag = rule == WriteRule::kIfEtag;
  std::string seen;
  auto ours = Holds(key, source, &seen);
  if (ours.ok() && *ours) return WriteResult::kWritten;
  if (ours.ok() && unknown && if_etag && seen == etag) return result;  // nobody has written, nor have we
  if (ours.ok()) return if_etag ? WriteResult::kChanged : WriteResult::kExists;
  // The object went away, or became another, while we looked: it was not ours alone any more.
  const ErrorKind why = ours.error().kind;
  if (lost && (why == ErrorKind::kNotFound || why == ErrorKind::kConflict)) return result;
  if (lost || why == ErrorKind::kInterrupted) return ours.TakeError();
  if (if_etag && why == ErrorKind::kNotFound) return WriteResult::kChanged;
  return result;
}

}  // namespace

std::unique_ptr<Remote> WithRetries(std::unique_ptr<Remote> inner, const TransferOptions& options,
                                    const Context& context, RetryPace pace) {
  return std::make_unique<RetryingRemote>(std::move(inner), options.retries, context, std::move(pace));
}

}  // namespace wdelta
