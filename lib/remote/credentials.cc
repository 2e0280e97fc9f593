#include "remote/credentials.h"

#include <ctime>

#include "remote/credential_sources.h"

namespace wdelta {
namespace {

constexpr int64_t kRefreshBefore = 300;  // seconds

}  // namespace

CredentialChain::CredentialChain(Send send, const Context& context, Clock clock)
    : send_(std::move(send)),
      environment_(context.environment),
      stop_(context.stop),
      clock_(clock ? std::move(clock) : [] { return static_cast<int64_t>(time(nullptr)); }) {}

Result<Credentials> CredentialChain::Get() {
  const std::lock_guard lock(mutex_);
  const int64_t now = clock_();
  if (found_ && (found_->expires == 0 || now < found_->expires - kRefreshBefore)) return *found_;
  auto fresh = Find();
  if (fresh.ok()) {
    found_ = *fresh;
    return fresh;
  }
  if (fresh.error().kind != ErrorKind::kInterrupted && found_ && now < found_->expires) return *found_;
  return fresh;
}

void CredentialChain::Invalidate() {
  const std::lock_guard lock(mutex_);
  found_.reset();
}

Result<Credentials> CredentialChain::Find() {
  if (environment_.Get("WDELTA_S3_ANONYMOUS") == "1") return Credentials{.source = "anonymous", .anonymous = true};
  WD_ASSIGN(std::optional<Credentials> found, FromEnvironment(environment_));
  if (found) return *found;
  WD_ASSIGN(const AwsProfile profile, ReadAwsProfile(environment_));
  WD_ASSIGN(found, FromProfile(profile, send_, environment_, stop_));
  if (found) return *found;
  WD_ASSIGN(found, FromWebIdentity(profile, send_, environment_));
  if (found) return *found;
  WD_ASSIGN(found, FromContainer(send_, environment_));
  if (found) return *found;
  std::string why;
  WD_ASSIGN(found, FromInstance(send_, environment_, &why));
  if (found) return *found;

  return Error{
      ErrorKind::kDenied,
      "no credentials for S3: none in the environment (AWS_ACCESS_KEY_ID), in profile '" + profile.name + "' of '" +
          profile.credentials_path + "' and '" + profile.config_path +
          "', from web identity (AWS_WEB_IDENTITY_TOKEN_FILE), from a container "
          "(AWS_CONTAINER_CREDENTIALS_FULL_URI) or from instance metadata (" +
          why + ")",
      "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, or WDELTA_S3_ANONYMOUS=1 for a public bucket"};
}

}  // namespace wdelta
