// The configuration files of the AWS tools, ~/.aws/config and ~/.aws/credentials, and what we take from them beside
// credentials.
//
// They are what Python's configparser reads: sections, `key = value`, keys in any case, comments on lines of their own.
// Indented lines under a key without a value form a block, such as that of `s3 =`; its keys appear here as
// "s3.addressing_style".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/environment.h"
#include "core/result.h"

namespace wdelta {

using AwsSection = std::map<std::string, std::string>;  // keys in lower case
using AwsFile = std::map<std::string, AwsSection>;      // "default", "profile x", "services y"

// kUsage with the number of the line that makes no sense, never with its text, which may be a secret.
Result<AwsFile> ParseAwsFile(std::string_view text);

// The profile that AWS_PROFILE names, else "default": the section of the credentials file over that of the config file.
struct AwsProfile {
  std::string name = "default";
  bool chosen = false;  // AWS_PROFILE was set
  bool found = false;   // in either file
  AwsSection values{};
  AwsSection services{};  // of the section that `services` refers to
  std::string config_path{}, credentials_path{};
  std::string keys_path{};  // the file that has aws_access_key_id

  // A value, or "".
  std::string Value(const std::string& key) const;
};
Result<AwsProfile> ReadAwsProfile(const Environment& environment);

// How to reach S3, by the environment and the selected profile; empty where nothing is said. A file that cannot be read
// is ignored here: the search for credentials reports it.
struct AwsSettings {
  std::string endpoint{}, region{}, ca_bundle{};
  bool path_style = false;
};
AwsSettings ReadAwsSettings(const Environment& environment);

}  // namespace wdelta
