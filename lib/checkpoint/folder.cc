#include "checkpoint/folder.h"

#include <algorithm>
#include <set>

#include "checkpoint/layout.h"
#include "core/file.h"
#include "core/json.h"

namespace wdelta {

namespace {

constexpr uint64_t kMaxCompanionBytes = 64 << 20;
constexpr uint64_t kMaxIndexBytes = 100'000'000;
constexpr size_t kMaxFolderEntries = 200'000;
constexpr std::string_view kIndexEnding = ".safetensors.index.json";
constexpr std::string_view kCompanionPatterns[] = {"*.json",     "*.jinja", "*.txt", "*.model",
                                                   "*.tiktoken", "*.py",    "*.md"};
constexpr std::string_view kOptimizerPatterns[] = {"optimizer*", "optim_*", "*_optim.*", "rng_state*", "scheduler*"};

bool AnyMatch(const auto& patterns, std::string_view text) {
  return std::any_of(std::begin(patterns), std::end(patterns), [&](const auto& p) { return GlobMatch(p, text); });
}

struct Candidate {
  std::string path;  // relative to the folder
  uint64_t bytes = 0;
  bool outside = false;  // a link that leads out of the folder
};

// A link may lead elsewhere inside the folder, or, in a Hugging Face cache, from snapshots/<commit>/ to blobs/.
bool LeadsOutside(const std::string& file, const std::string& real_folder) {
  const Result<std::string> target = RealPath(file);
  if (!target.ok()) return true;
  const auto within = [&](const std::string& folder) {
    return target->starts_with(folder == "/" ? "/" : folder + "/");
  };
  if (within(real_folder)) return false;
  const std::string snapshots = ParentFolder(real_folder);
  return !(LastComponent(snapshots) == "snapshots" && within(ParentFolder(snapshots) + "/blobs"));
}

// All files that are not hidden, by path; folders that are links are not entered.
Result<std::vector<Candidate>> ListFiles(const std::string& folder) {
  WD_ASSIGN(const std::string real_folder, RealPath(folder));
  std::vector<Candidate> files;
  size_t seen = 0;
  WD_TRY(WalkTree(real_folder, [&](const std::string& path, EntryKind kind) -> Result<bool> {
    if (++seen > kMaxFolderEntries) {
      return Error{ErrorKind::kRefused, "'" + folder + "' holds more than " + std::to_string(kMaxFolderEntries) +
                                            " files, it is not a checkpoint"};
    }
    if (LastComponent(path).starts_with('.')) return false;
    if (kind != EntryKind::kFile && kind != EntryKind::kLink) return true;
    const std::string file = real_folder + "/" + path;
    const bool outside = kind == EntryKind::kLink && LeadsOutside(file, real_folder);
    // A link that leads to a folder has no size, and is left out because it is too large.
    files.push_back({path, outside ? 0 : SizeOfFile(file).value_or(UINT64_MAX), outside});
    return true;
  }));
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

bool IsTopLevel(std::string_view path) {
  return path.find('/') == std::string_view::npos;
}

// The one index of the folder: model.safetensors.index.json, or the only other one.
Result<std::string> ChooseIndex(const std::vector<Candidate>& files, const std::string& folder) {
  std::vector<std::string> found;
  for (const Candidate& file : files) {
    if (!IsTopLevel(file.path) || !file.path.ends_with(kIndexEnding)) continue;
    if (file.path == "model.safetensors.index.json") return file.path;
    found.push_back(file.path);
  }
  if (found.size() > 1) {
    return Error{ErrorKind::kRefused, "'" + folder + "' holds several indexes: '" + found[0] + "', '" + found[1] + "'",
                 "keep one of them in the folder"};
  }
  return found.empty() ? "" : found[0];
}

// Shards that torch's distributed checkpoint wrote and nobody put together: each holds slices of tensors.
Result<> RefuseDistributedShards(const std::vector<Candidate>& files, const std::string& folder) {
  for (const Candidate& file : files) {
    const bool sliced = file.path.ends_with(".distcp") || GlobMatch("shard-*-model-*.safetensors", file.path);
    if (!sliced) continue;
    return Error{ErrorKind::kRefused,
                 "'" + folder + "' holds unconsolidated shards of a torch distributed checkpoint ('" + file.path + "')",
                 "consolidate them first, e.g. with torch.distributed.checkpoint's "
                 "consolidate_safetensors_files or dcp_to_torch_save, then name the folder it wrote"}
        .At(file.path);
  }
  return {};
}

std::string ListForPeople(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 8; ++i) text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > 8) text += " and " + std::to_string(names.size() - 8) + " more";
  return text;
}

bool IsCompanion(const Candidate& file, const FileChoice& choice) {
  if (AnyMatch(choice.exclude, file.path)) return false;
  if (AnyMatch(choice.include, file.path)) return true;
  const std::string name = LastComponent(file.path);
  return file.bytes <= kMaxCompanionBytes && AnyMatch(kCompanionPatterns, name) && !AnyMatch(kOptimizerPatterns, name);
}

}  // namespace

Result<> VisitWeightMap(const std::string& index_path,
                        const std::function<Result<>(std::string_view, std::string_view)>& visit) {
  const auto parse = [&]() -> Result<> {
    WD_ASSIGN(const Bytes text, ReadWholeFile(index_path, kMaxIndexBytes));
    if (!ValidUtf8(text)) return Error{ErrorKind::kIntegrity, "not UTF-8"};
    JsonReader json(AsText(text));
    bool found = false;
    WD_TRY(json.Object([&](std::string_view field) -> Result<> {
      if (field != "weight_map") return json.Skip();
      found = true;
      return json.Object([&](std::string_view key) -> Result<> {
        const std::string tensor(key);
        WD_ASSIGN(const std::string_view shard, json.String());
        WD_TRY(CheckShardName(shard));
        return visit(tensor, shard);
      });
    }));
    WD_TRY(json.End());
    if (!found) return Error{ErrorKind::kIntegrity, "no weight_map"};
    return {};
  };
  Result<> result = parse();
  if (result.ok()) return {};
  auto error = result.TakeError();
  if (error->path.empty() || error->kind == ErrorKind::kRefused) {  // not one of the file's own, which name it already
    error->message = "index '" + index_path + "': " + error->message;
    error->path = index_path;
  }
  return error;
}

Result<FolderFiles> ListCheckpointFolder(const std::string& folder, const FileChoice& choice, const NoteSink& note) {
  WD_ASSIGN(const std::vector<Candidate> files, ListFiles(folder));
  WD_TRY(RefuseDistributedShards(files, folder));
  FolderFiles result;
  WD_ASSIGN(result.index, ChooseIndex(files, folder));

  std::set<std::string, std::less<>> shards;
  if (!result.index.empty()) {
    WD_TRY(VisitWeightMap(folder + "/" + result.index, [&](std::string_view, std::string_view shard) -> Result<> {
      if (!shards.contains(shard)) shards.emplace(shard);
      return {};
    }));
  }
  std::vector<std::string> left_out, outside;
  for (const Candidate& file : files) {
    const bool safetensors = file.path.ends_with(".safetensors");
    if (result.index.empty() && safetensors && IsTopLevel(file.path) && !AnyMatch(kOptimizerPatterns, file.path)) {
      shards.insert(file.path);
    }
    if (shards.contains(file.path)) {
      WD_TRY(CheckShardName(file.path));
      if (file.outside) {
        return Error{ErrorKind::kRefused, "'" + folder + "/" + file.path + "' is a link that points outside its folder",
                     "name the folder that holds the files themselves, or copy them"}
            .At(file.path);
      }
      result.shards.push_back(file.path);
    } else if (file.outside) {
      outside.push_back(file.path);
    } else if (!safetensors && CheckCompanionPath(file.path).ok() && IsCompanion(file, choice)) {
      result.companions.push_back(file.path);
    } else {
      left_out.push_back(file.path);
    }
  }
  for (const std::string& shard : shards) {
    if (std::binary_search(result.shards.begin(), result.shards.end(), shard)) continue;
    return Error{ErrorKind::kNotFound,
                 "'" + folder + "/" + result.index + "' names '" + shard + "', which is not there"}
        .At(shard);
  }
  if (result.shards.empty()) {
    return Error{ErrorKind::kNotFound, "no safetensors files in '" + folder + "'",
                 "name a .safetensors file, or a folder that holds some"}
        .At(folder);
  }
  if (!left_out.empty()) note("left out of '" + folder + "': " + ListForPeople(left_out));
  if (!outside.empty()) note("left out of '" + folder + "', links that lead out of it: " + ListForPeople(outside));
  return result;
}

}  // namespace wdelta
