// Any bytes as a configuration file of the AWS tools, as the command of a credential process and as the JSON that one
// prints: nothing of it may harm, and what is accepted has the form that was promised.
#include <cstdlib>

#include "remote/aws_profile.h"
#include "remote/credential_process.h"
#include "remote/credential_sources.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const wdelta::ByteSpan bytes(data, size);
  const std::string_view text = wdelta::AsText(bytes);
  if (const auto file = wdelta::ParseAwsFile(text); file.ok()) {
    for (const auto& [name, section] : *file) {
      if (name.empty() || name.find_first_of("\n]") != std::string::npos) std::abort();
      for (const auto& [key, value] : section)
        if (key.empty() || key.find('\n') != std::string::npos || value.find('\n') != std::string::npos) std::abort();
    }
  }
  if (const auto words = wdelta::SplitCommand(text)) {
    size_t total = 0;
    for (const std::string& word : *words) total += word.size();
    if (words->empty() || total > size) std::abort();
  }
  for (const char* token : {"SessionToken", "Token"}) {
    const auto credentials = wdelta::ParseCredentialsJson(bytes, token);
    if (!credentials.ok()) continue;
    for (const std::string& part : {credentials->access_key, credentials->secret_key, credentials->session_token})
      for (const char c : part)
        if (c <= ' ' || c >= 127) std::abort();
    if (credentials->access_key.empty() || credentials->secret_key.empty()) std::abort();
  }
  return 0;
}
