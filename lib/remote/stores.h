// The kinds of remotes that OpenRemote (remote.h) chooses from.
//
// file:// is a folder of this machine or of a file server, where the path of a file below the folder is the key of an
// object. A write puts an object under a random name into ROOT/.tmp, syncs it, and then links it to its name: link()
// fails if the name exists, on local file systems and on NFS, and readers see whole objects only. What a crash leaves
// in .tmp is removed by the next write a day later. On a file system in memory nothing is synced.
//
// The etag of an object in a folder is made of the file's number, size and time. No system call replaces a file only if
// it is still the same, so a conditional replacement compares and renames under a lock (temporary_object.h), which
// other writes do not take.
//
// No symbolic link below ROOT is followed. ROOT itself may be one; it is created by the first write.
#pragma once

#include "remote/remote.h"

namespace wdelta {

// file:///abs/path or file://localhost/abs/path, percent-encoded where need be; else kUsage.
Result<std::unique_ptr<Remote>> OpenFolderRemote(const std::string& url, const StopToken& stop);
// The path in such a URL, percent-decoded, without slashes at the end. Another host, a relative path, the root of
// everything or a malformed escape is kUsage.
Result<std::string> PathOfFileUrl(const std::string& url);

// A bucket of an S3 store, or of Hugging Face through its S3 gateway: s3://BUCKET/PREFIX and
// hf://buckets/OWNER/NAME/PREFIX. What the options leave open comes from the environment and the profile of AWS's own
// tools. WDELTA_SSE and WDELTA_SSE_KMS_KEY_ID ask the store to encrypt what is written; WDELTA_S3_ADDRESSING (path,
// virtual) says where the bucket's name goes.
Result<std::unique_ptr<Remote>> OpenS3Remote(const std::string& url, const TransferOptions& options,
                                             const Context& context);

// A copy of a remote's objects behind a plain web server, to read only. http://HOST/PATH or https://HOST/PATH: the
// object of a key is what lies at PATH/KEY. Nothing is ever signed or sent along; redirects are followed by the rules
// of redirect.h.
Result<std::unique_ptr<Remote>> OpenMirrorRemote(const std::string& url, const TransferOptions& options,
                                                 const Context& context);

}  // namespace wdelta
