#include "remote/s3_session.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "core/digest.h"
#include "core/text.h"
#include "remote/ranged_answer.h"
#include "remote/redirect.h"
#include "remote/s3_xml.h"

namespace wdelta {

namespace {

// Whether the user has the token that opens everything of Hugging Face except this gateway.
bool HasHuggingFaceToken(const Environment& environment) {
  if (!environment.Get("HF_TOKEN").empty() || !environment.Get("HUGGING_FACE_HUB_TOKEN").empty()) return true;
  std::string path = environment.Get("HF_TOKEN_PATH");
  if (path.empty()) {
    std::string home = environment.Get("HF_HOME");
    if (home.empty()) {
      const std::string cache = environment.Get("XDG_CACHE_HOME");
      home = (cache.empty() ? environment.Get("HOME") + "/.cache" : cache) + "/huggingface";
    }
    path = home + "/token";
  }
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && status.st_size > 0;
}

bool IsOneOf(const std::string& text, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, text) != names.end();
}

bool IsAboutExpiry(const std::string& code) {
  return IsOneOf(code, {"ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired"});
}

ErrorKind KindOf(long status, const std::string& code) {
  if (IsOneOf(code, {"SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", "OperationAborted",
                     "ConditionalRequestConflict", "BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch"}))
    return ErrorKind::kTransient;
  if (IsAboutExpiry(code) || IsOneOf(code, {"AuthorizationHeaderMalformed", "InvalidAccessKeyId"}))
    return ErrorKind::kDenied;
  if (status == 401 || status == 403) return ErrorKind::kDenied;
  if (status == 404) return ErrorKind::kNotFound;
  if (status == 412) return ErrorKind::kConflict;
  if (status == 408 || status == 409 || status == 425 || status == 429 || (status >= 500 && status != 501))
    return ErrorKind::kTransient;
  return ErrorKind::kRefused;
}

}  // namespace

S3Session::S3Session(S3Address address, const TransferOptions& options, const Context& context)
    : first_address_(std::move(address)),
      options_(options),
      note_(context.note),
      stop_(context.stop),
      environment_(context.environment),
      client_(options, context),
      chain_([this](const HttpRequest& request) { return client_.Send(request); }, context),
      state_{first_address_} {}

S3Session::State S3Session::Current() {
  const std::lock_guard lock(mutex_);
  return state_;
}

Result<Credentials> S3Session::GetCredentials() {
  Result<Credentials> credentials = chain_.Get();
  if (credentials.ok()) {
    const std::lock_guard lock(mutex_);
    credentials_source_ = credentials->anonymous ? "none, requests are not signed" : credentials->source;
    return credentials;
  }
  if (first_address_.hugging_face && credentials.error().kind != ErrorKind::kInterrupted &&
      HasHuggingFaceToken(environment_))
    return Error{ErrorKind::kDenied,
                 "no S3 credentials for '" + first_address_.url +
                     "': there is a Hugging Face token, but that does not open the S3 gateway of buckets",
                 "Generate S3 credentials from an access token in the settings at huggingface.co, and set "
                 "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile, to them."};
  return credentials;
}

Result<HttpRequest> S3Session::Build(const S3Call& call, const State& state) {
  WD_ASSIGN(const Credentials credentials, GetCredentials());
  const S3Address& address = state.address;
  const std::string path = call.key ? address.ObjectPath(*call.key) : address.BucketPath();
  const std::string query = CanonicalQuery(call.query);
  HttpRequest request{
      .method = call.method,
      .url = address.endpoint.scheme + "://" + address.Host() + path + (query.empty() ? "" : "?" + query),
      .headers = call.headers,
      .body = call.body,
      .max_answer = call.max_answer,
      .timeout = call.past_stop ? 3.0 : 0.0,
      .keep = call.keep,
      .once = call.once,
      .past_stop = call.past_stop};
  if (credentials.anonymous) return request;
  const MemorySource nothing({});
  WD_ASSIGN(const Sha256Digest payload, DigestSource(call.body ? *call.body : nothing, stop_));
  const SigningInput input{.method = call.method,
                           .host = address.Host(),
                           .path = path,
                           .query = call.query,
                           .headers = call.headers,
                           .payload_hash = Hex(payload),
                           .time = std::time(nullptr) + state.clock_offset,
                           .region = address.region};
  const SigningKey key{credentials.access_key, credentials.secret_key, credentials.session_token};
  for (auto& header : Sign(input, key)) request.headers.push_back(std::move(header));
  return request;
}

Result<HttpAnswer> S3Session::Send(const S3Call& call) {
  Mended mended;
  for (;;) {
    const State state = Current();
    WD_ASSIGN(const HttpRequest request, Build(call, state));
    const int64_t asked_at = std::time(nullptr);
    WD_ASSIGN(HttpAnswer answer, client_.Send(request));
    if (answer.status >= 300 && answer.status < 400 && first_address_.hugging_face && call.method == "GET")
      return Follow(client_, request, std::move(answer));
    if (answer.status < 300 || answer.status == 404 || answer.status == 412 || answer.status == 416) return answer;
    WD_ASSIGN(const bool again, Mend(call, state, answer, asked_at, &mended));
    if (again) continue;
    if (call.method != "HEAD" || mended.head || (answer.status != 400 && answer.status != 403)) return answer;
    // An answer to HEAD cannot say why. A GET of one byte can, and is mended on the way if that is possible.
    mended.head = true;
    S3Call why = call;
    why.method = "GET";
    why.headers = {{"Range", "bytes=0-0"}};
    why.keep = ByteRange{0, 1};
    WD_ASSIGN(HttpAnswer reason, Send(why));
    if (reason.status >= 400 && reason.status != 404 && reason.status != 416) return reason;
  }
}

Result<bool> S3Session::Mend(const S3Call& call, const State& used, const HttpAnswer& answer, int64_t asked_at,
                             Mended* mended) {
  const S3Error error = ReadS3Error(answer.body).value_or(S3Error{});
  if (error.code == "RequestTimeTooSkewed" && !mended->clock) {
    mended->clock = true;
    return MendClock(used, answer, asked_at);
  }
  if (IsAboutExpiry(error.code) && !mended->keys && !call.past_stop) {
    mended->keys = true;
    chain_.Invalidate();
    return true;
  }
  if (!mended->region) {
    mended->region = true;
    return MendRegion(used, answer, error.region);
  }
  return false;
}

bool S3Session::MendClock(const State& used, const HttpAnswer& answer, int64_t asked_at) {
  const std::string* date = answer.Header("date");
  const std::optional<int64_t> theirs = date ? ParseHttpDate(*date) : std::nullopt;
  if (!theirs) return false;
  const int64_t offset = *theirs - (asked_at + std::time(nullptr)) / 2;
  {
    const std::lock_guard lock(mutex_);
    if (state_.clock_offset != used.clock_offset) return true;  // another thread was faster
    state_.clock_offset = offset;
  }
  note_("this machine's clock is " + std::to_string(std::abs(offset)) + " s " + (offset > 0 ? "behind" : "ahead of") +
        " that of '" + used.address.endpoint.Origin() + "'; requests are signed with the store's time");
  return true;
}

bool S3Session::MendRegion(const State& used, const HttpAnswer& answer, const std::string& named) {
  const std::string* header = answer.Header("x-amz-bucket-region");
  const std::string& region = header ? *header : named;
  if (!IsRegionName(region) || region == used.address.region) return false;
  const std::lock_guard lock(mutex_);
  state_.address = first_address_.In(region);
  return true;
}

Error S3Session::Explain(const HttpAnswer& answer, const std::optional<std::string>& key) {
  const S3Error details = ReadS3Error(answer.body).value_or(S3Error{});
  const std::string subject = "'" + first_address_.url + (key ? "/" + *key : "") + "'";
  Error error{KindOf(answer.status, details.code)};
  error.retry_after = AskedPause(answer);
  if (details.code == "NoSuchBucket") {
    error.message = "no bucket '" + first_address_.bucket + "' at '" + first_address_.endpoint.Origin() + "'";
    return error;
  }
  if (answer.status == 404) {
    error.message = "no object " + subject;
    return error;
  }
  error.message = subject + ": the store answered " + std::to_string(answer.status);
  if (!details.code.empty()) error.message += " " + Shorten(TerminalText(details.code), 60);
  if (!details.message.empty()) error.message += ": " + Shorten(TerminalText(details.message));
  if (error.kind != ErrorKind::kDenied) return error;
  const std::lock_guard lock(mutex_);
  error.message += " (credentials: " + credentials_source_ + ")";
  if (details.code == "AccessDenied" && key)
    error.hint = "Stores also answer this for an object that is not there, where the keys may not list the bucket.";
  if (details.code == "SignatureDoesNotMatch") error.hint = "Check the secret key, and that the region is right.";
  return error;
}

std::vector<std::pair<std::string, std::string>> S3Session::Describe() {
  // Asks where they come from; without them that is worth saying, too.
  const Result<Credentials> credentials = GetCredentials();
  const State state = Current();
  const std::lock_guard lock(mutex_);
  return {{"endpoint", state.address.endpoint.Origin() + state.address.endpoint.path},
          {"bucket", state.address.bucket},
          {"prefix", state.address.prefix},
          {"addressing", state.address.in_host ? "virtual host" : "path"},
          {"region", state.address.region},
          {"credentials", credentials.ok() ? credentials_source_ : credentials.error().message},
          {"clock skew", std::to_string(state.clock_offset) + " s"}};
}

}  // namespace wdelta
