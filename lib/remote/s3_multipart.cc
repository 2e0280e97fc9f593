#include "remote/s3_multipart.h"

#include <algorithm>

#include "core/parallel.h"
#include "core/sleep.h"
#include "remote/s3_xml.h"

namespace wdelta {

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kMinPart = 16 * kMiB;
constexpr uint64_t kMaxParts = 10'000;
constexpr unsigned kPartAttempts = 4;

// Whole MiB, as few as the number of parts allows.
uint64_t PartSize(uint64_t size) {
  const uint64_t needed = (size + kMaxParts - 1) / kMaxParts;
  return std::max(kMinPart, (needed + kMiB - 1) / kMiB * kMiB);
}

// Seconds between two attempts, more each time. A store that asked for a rest gets it, up to a minute.
double Rest(unsigned attempt, double asked) {
  return 0.1 * (2u << (2 * attempt)) + std::clamp(asked, 0.0, 60.0);
}

class Upload {
 public:
  Upload(S3Session& session, const std::string& key, const ByteSource& source)
      : session_(session), key_(key), source_(source), part_size_(PartSize(source.size())) {}

  Result<> Begin(const TextPairs& headers) {
    WD_ASSIGN(const HttpAnswer answer,
              session_.Send({.method = "POST", .key = key_, .query = {{"uploads", ""}}, .headers = headers}));
    if (answer.status != 200) return session_.Explain(answer, key_);
    WD_ASSIGN(id_, ReadS3Text(answer.body, "InitiateMultipartUploadResult/UploadId"));
    return {};
  }

  Result<> SendParts() {
    const uint64_t count = (source_.size() + part_size_ - 1) / part_size_;
    const unsigned jobs = session_.options().jobs ? session_.options().jobs : 4;
    etags_.reserve(count);
    return RunOrdered<std::string>(
        count, LimitsFor(jobs, session_.stop()), [this](uint64_t index, unsigned) { return SendPart(index); },
        [this](uint64_t, std::string etag) -> Result<> {
          etags_.push_back(std::move(etag));
          return {};
        });
  }

  Result<bool> Complete(bool only_if_absent) {
    std::string list = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
    for (size_t i = 0; i < etags_.size(); ++i)
      list += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" + XmlEscape(etags_[i]) +
              "</ETag></Part>";
    list += "</CompleteMultipartUpload>";
    const MemorySource body(AsBytes(list));
    S3Call call{.method = "POST",
                .key = key_,
                .query = {{"uploadId", id_}},
                .headers = {{"Content-Type", "application/xml"}},
                .body = &body,
                .once = only_if_absent};
    if (only_if_absent) call.headers.emplace_back("If-None-Match", "*");
    WD_ASSIGN(const HttpAnswer answer, session_.Send(call));
    if (answer.status == 412 && only_if_absent) return false;
    if (answer.status != 200) return session_.Explain(answer, key_);
    // A store that takes long says 200 before it knows the outcome, and the outcome afterwards.
    const Result<std::string> etag = ReadS3Text(answer.body, "CompleteMultipartUploadResult/ETag");
    if (etag.ok()) return true;
    const std::optional<S3Error> late = ReadS3Error(answer.body);
    if (late && late->code == "PreconditionFailed" && only_if_absent) return false;
    Error error = session_.Explain(answer, key_);
    error.kind = ErrorKind::kTransient;
    return error;
  }

  // The store keeps parts of an upload that is never completed, and bills them, until this is said.
  void Abort() {
    static_cast<void>(
        session_.Send({.method = "DELETE", .key = key_, .query = {{"uploadId", id_}}, .past_stop = true}));
  }

 private:
  // A part is read once, into memory: its digest has to be known before the first byte is sent, and an attempt may have
  // to be repeated. Beginning anew with all parts because one of them stumbled would cost more.
  Result<std::string> SendPart(uint64_t index) {
    const uint64_t offset = index * part_size_;
    Bytes bytes(std::min(part_size_, source_.size() - offset));
    WD_TRY(source_.ReadAt(offset, bytes));
    const MemorySource part(bytes, DigestSha256(bytes));
    for (unsigned attempt = 0;; ++attempt) {
      Result<std::string> etag = TrySendPart(index, part);
      if (etag.ok() || etag.error().kind != ErrorKind::kTransient) return etag;
      if (attempt + 1 == kPartAttempts || attempt >= session_.options().retries) return etag;
      WD_TRY(SleepFor(Rest(attempt, etag.error().retry_after), session_.stop()));
    }
  }

  Result<std::string> TrySendPart(uint64_t index, const ByteSource& part) {
    const TextPairs query = {{"partNumber", std::to_string(index + 1)}, {"uploadId", id_}};
    WD_ASSIGN(const HttpAnswer answer, session_.Send({.method = "PUT", .key = key_, .query = query, .body = &part}));
    if (answer.status != 200) return session_.Explain(answer, key_);
    const std::string* etag = answer.Header("etag");
    if (!etag) return Error{ErrorKind::kIntegrity, "the store took a part of '" + key_ + "' and gave no ETag for it"};
    return *etag;
  }

  S3Session& session_;
  const std::string& key_;
  const ByteSource& source_;
  const uint64_t part_size_;
  std::string id_;
  std::vector<std::string> etags_;
};

}  // namespace

Result<bool> WriteInParts(S3Session& session, const std::string& key, const ByteSource& source,
                          const TextPairs& headers, bool only_if_absent) {
  Upload upload(session, key, source);
  WD_TRY(upload.Begin(headers));
  Result<> sent = upload.SendParts();
  if (!sent.ok()) {
    upload.Abort();
    return sent.TakeError();
  }
  Result<bool> completed = upload.Complete(only_if_absent);
  if (!completed.ok() || !*completed) upload.Abort();
  return completed;
}

}  // namespace wdelta
