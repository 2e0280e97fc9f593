// The places that CredentialChain asks, one function each. nullopt: there is nothing of the kind here, ask the next.
#pragma once

#include <optional>

#include "remote/credentials.h"

namespace wdelta {

using FoundCredentials = Result<std::optional<Credentials>>;

FoundCredentials FromEnvironment(const Environment& environment);
FoundCredentials FromProfile(const AwsProfile& profile, const CredentialChain::Send& send,
                             const Environment& environment, const StopToken& stop);
FoundCredentials FromWebIdentity(const AwsProfile& profile, const CredentialChain::Send& send,
                                 const Environment& environment);
FoundCredentials FromContainer(const CredentialChain::Send& send, const Environment& environment);
// Within a second altogether. Without an answer it is not there; `why` then says more.
FoundCredentials FromInstance(const CredentialChain::Send& send, const Environment& environment, std::string* why);

// The JSON object that credential_process, containers and instances answer with, all of the same kind; `token` is the
// name that it gives to the session token. kDenied, without any of the text.
Result<Credentials> ParseCredentialsJson(ByteSpan text, std::string_view token);

}  // namespace wdelta
