// Signed requests to one bucket. What a store can complain about and a client can mend by itself is mended here, each
// once for a request: a clock that is off, keys that have expired, a bucket that lives in another region.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/context.h"
#include "remote/credentials.h"
#include "remote/http_client.h"
#include "remote/s3_address.h"
#include "remote/sigv4.h"

namespace wdelta {

struct S3Call {
  std::string method = "GET";
  std::optional<std::string> key{};  // without the remote's prefix; nullopt: about the bucket itself
  TextPairs query{}, headers{};
  const ByteSource* body = nullptr;  // one that knows its SHA-256 is not read to be signed
  uint64_t max_answer = 64 << 10;
  std::optional<ByteRange> keep{};  // these three as in HttpRequest
  bool once = false;
  bool past_stop = false;
};

class S3Session {
 public:
  S3Session(S3Address address, const TransferOptions& options, const Context& context);

  // Any status is an answer. A GET from Hugging Face is followed to where its bytes are.
  Result<HttpAnswer> Send(const S3Call& call);

  // What went wrong, for an answer that is not a success. `key` as in S3Call.
  Error Explain(const HttpAnswer& answer, const std::optional<std::string>& key);

  const S3Address& address() const { return first_address_; }  // as the user gave it; the region may be another by now
  const TransferOptions& options() const { return options_; }
  const StopToken& stop() const { return stop_; }
  std::vector<std::pair<std::string, std::string>> Describe();

 private:
  struct Mended {
    bool clock = false, region = false, keys = false, head = false;
  };
  struct State {
    S3Address address;
    int64_t clock_offset = 0;  // the store's clock minus ours
  };

  State Current();
  Result<Credentials> GetCredentials();
  Result<HttpRequest> Build(const S3Call& call, const State& state);
  // Whether something was mended, so that it is worth sending again.
  Result<bool> Mend(const S3Call& call, const State& used, const HttpAnswer& answer, int64_t asked_at, Mended* mended);
  bool MendClock(const State& used, const HttpAnswer& answer, int64_t asked_at);
  bool MendRegion(const State& used, const HttpAnswer& answer, const std::string& named);

  const S3Address first_address_;
  const TransferOptions options_;
  const NoteSink note_;
  const StopToken stop_;
  const Environment environment_;
  HttpClient client_;
  CredentialChain chain_;
  std::mutex mutex_;
  State state_;
  std::string credentials_source_;
};

}  // namespace wdelta
