// Paths and folders: names, what lies at a path, and making, listing, renaming and removing.
//
// The one home of <filesystem>, whose functions throw unless they are asked not to; nothing here does. Functions that
// only ask a question say no when there is no answer: what cannot be looked at is not there. Whoever then opens it gets
// the error with the reason.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/try.h"

namespace wdelta {

// "cannot open 'x': No such file or directory", with the kind that fits `errno_value`.
Error SystemError(std::string_view action, std::string_view path, int errno_value);

// ---- Names. "a/b/" and "a/b" are the same ---------------------------------------------------------------------------

std::string ParentFolder(const std::string& path);
std::string LastComponent(const std::string& path);
// From the root, without "." and ".."; links stay as they are.
Result<std::string> AbsolutePath(const std::string& path);
// The same without links: where the file itself lies. Fails if it does not exist.
Result<std::string> RealPath(const std::string& path);
// A name beside `path` that nobody uses: same folder, hidden, with the process id and a random part.
std::string TemporaryNameBeside(const std::string& path);

// Whether `text` fits a shell pattern: `*` stands for any run of characters, a slash included, `?` for one; everything
// else for itself.
bool GlobMatch(std::string_view pattern, std::string_view text);

// ---- What lies there. Links are followed, except by the two that ask for one ---------------------------------------

bool PathExists(const std::string& path);
bool IsFolder(const std::string& path);
bool IsEmptyFolder(const std::string& path);
bool IsRegularFile(const std::string& path);
std::optional<uint64_t> SizeOfFile(const std::string& path);
bool IsSameFile(const std::string& one, const std::string& other);
bool IsLink(const std::string& path);
std::optional<std::string> LinkTarget(const std::string& path);  // what the link says; nullopt: not a link

// ---- Folders --------------------------------------------------------------------------------------------------------

enum class EntryKind { kFile, kFolder, kLink, kOther };
struct FolderEntry {
  std::string name;
  EntryKind kind = EntryKind::kOther;
};
// What is in a folder, by name.
Result<std::vector<FolderEntry>> ListFolder(const std::string& path);
// Everything below a folder, in any order, with its path from there. `visit` says of a folder whether it is to be
// entered, and may end the walk with an error. Links are shown and not followed.
Result<> WalkTree(const std::string& folder,
                  const std::function<Result<bool>(const std::string& path, EntryKind kind)>& visit);

// `durable` forces names to disk before the call returns.
Result<> CreateFolder(const std::string& path);   // fails if something has that name
Result<> CreateFolders(const std::string& path);  // with those on the way; one that is there already is fine
Result<> SyncFolder(const std::string& path);
Result<> Rename(const std::string& from, const std::string& to, bool durable);
Result<> LinkFile(const std::string& from, const std::string& to);  // another name for the same file
Result<> CopyFile(const std::string& from, const std::string& to);  // a new file with the same content and mode

// These two do what they can, and are silent about the rest.
void RemoveTree(const std::string& path) noexcept;
// Removes what lies at `path` when it goes out of scope.
struct TemporaryTree {
  explicit TemporaryTree(std::string place) : path(std::move(place)) {}
  TemporaryTree(const TemporaryTree&) = delete;
  ~TemporaryTree() { RemoveTree(path); }
  const std::string path;
};
// What processes that were killed left in a folder under temporary names; only while its lock is held.
void RemoveTemporaries(const std::string& folder) noexcept;

}  // namespace wdelta
