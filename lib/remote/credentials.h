// Who we are to S3, found where the AWS tools look, in this order:
//
//   WDELTA_S3_ANONYMOUS=1             nobody: requests go out unsigned
//   environment                       AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//   the selected profile              keys, credential_process, or a role with web_identity_token_file
//   web identity                      AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME
//   container                         AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI
//   instance metadata (IMDSv2)        the last, and for at most a second
//
// The first place that has something decides: if what it has is of no use, that is an error and no other place is
// asked. A secret is never part of an error or of `source`.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "remote/aws_profile.h"
#include "remote/http_client.h"

namespace wdelta {

struct Credentials {
  std::string access_key{}, secret_key{}, session_token{};
  int64_t expires = 0;   // seconds since 1970; 0: never
  std::string source{};  // where they come from, for people
  bool anonymous = false;
};

class CredentialChain {
 public:
  using Send = std::function<Result<HttpAnswer>(const HttpRequest&)>;
  using Clock = std::function<int64_t()>;  // seconds since 1970; empty: the machine's

  // Takes environment and stop from `context`; `send` has a stop of its own.
  explicit CredentialChain(Send send, const Context& context = {}, Clock clock = {});

  // Those found before, or new ones from five minutes before they expire on; when no new ones are to be had, the old
  // ones as long as they are valid. kDenied: none, or of no use. kTransient: a service that should have given them did
  // not answer.
  Result<Credentials> Get();
  // The store refused them: the next Get() looks again.
  void Invalidate();

 private:
  Result<Credentials> Find();

  const Send send_;
  const Environment environment_;
  const StopToken stop_;
  const Clock clock_;
  std::mutex mutex_;
  std::optional<Credentials> found_;
};

}  // namespace wdelta
