// HTTP with libcurl: one request, one answer. Home of <curl/curl.h>.
//
// A client keeps its connections and may be used from several threads at once. Whatever status a server answers is an
// answer; an error is what keeps an answer from arriving: kTransient (no connection, cut off, too slow), kDenied (the
// server's certificate does not convince), kIntegrity (longer than allowed, or coded in a way nobody asked for),
// kInterrupted (a stop was requested).
//
// After a stop nothing new is sent, and nothing more is read. A change that has been sent whole is different:
// the server may be about to carry it out, and a removal that tidies up would come before it. So the client waits a
// moment for its answer.
//
// Redirects are answers too: the caller that follows one decides what may go along. Only http and https are spoken,
// certificates are always checked, and the usual proxy variables count. Errors name a URL without what could be secret
// in it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/bytes.h"
#include "core/stop.h"
#include "remote/remote.h"

namespace wdelta {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct ByteRange {
  uint64_t offset = 0, length = 0;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url{};  // sent as it is: nothing in its path is resolved or encoded
  HttpHeaders headers{};
  const ByteSource* body = nullptr;
  uint64_t max_answer = 1 << 20;  // bytes of body; more is an error
  double timeout = 0;             // seconds for all of it; 0: as the client's options say
  // Of an answer with status 200, keep only these bytes; the rest does not count as part of the answer and need not
  // arrive. For a server that was asked for a range and sends all.
  std::optional<ByteRange> keep{};
  // Never sent twice. A connection that lay idle may prove dead, and libcurl then sends again on another one; a
  // conditional write must not meet itself, so it takes a connection of its own.
  bool once = false;
  bool past_stop = false;  // goes on after a stop: for tidying up, with a short timeout

  uint64_t body_bytes() const { return body ? body->size() : 0; }
};

struct HttpAnswer {
  long status = 0;
  HttpHeaders headers{};  // names in lower case, in the order they came; a name may come twice
  Bytes body{};

  // The value of the first header of this (lower-case) name, or nullptr.
  const std::string* Header(std::string_view name) const;
};

class HttpClient {
 public:
  // Takes its stop from `context`, and from its environment the certificates to trust, if the options do not say.
  HttpClient(const TransferOptions& options, const Context& context);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  Result<HttpAnswer> Send(const HttpRequest& request);

 private:
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace wdelta
