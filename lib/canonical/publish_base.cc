#include "canonical/publish_base.h"

#include "canonical/whole_version.h"
#include "core/text.h"
#include "foreign/foreign_target.h"
#include "sync/object_transfer.h"

namespace wdelta {

namespace {

std::string NameOf(const VersionStore& store, uint64_t version) {
  return "version " + VersionName(version) + " of '" + store.remote().url() + "'";
}

// Whether the files of a version are those that its list of checksums names, and the list is the one that we wrote.
// Reads all of it.
Result<bool> IsWhatWePushed(VersionStore& store, const PusherState& home, uint64_t version) {
  WD_ASSIGN(const std::optional<Bytes> sums, store.ReadSums(version));
  if (!sums || DigestSha256(*sums) != home.published_proof()) return false;
  for (const FileSum& sum : ParseSums(AsText(*sums))) {
    WD_ASSIGN(const std::optional<Sha256Digest> found, DigestObject(store.remote(), store.KeyOf(version, sum.name)));
    if (found != sum.sha256) return false;
  }
  return true;
}

}  // namespace

Result<> CheckOwnVersion(VersionStore& store, PusherState& home, uint64_t newest, const std::string& base,
                         const Sha256Digest& base_state) {
  if (base_state != home.base_state()) {
    Error error{ErrorKind::kConflict, "'" + base + "' is not what was pushed as " + NameOf(store, newest)};
    error.expected = Hex(home.base_state());
    error.found = Hex(base_state);
    error.hint = base == home.base_path()
                     ? "the last checkpoint was overwritten where it lay; send all of the model with "
                       "'--anchor', and use '--keep-base copy' from now on"
                     : "the base has to be the newest version";
    return error;
  }
  WD_ASSIGN(const Sha256Digest seal, store.SealOf(newest));
  if (seal == home.published_seal()) return {};
  WD_ASSIGN(const bool is_ours, IsWhatWePushed(store, home, newest));  // a store that was copied looks new, and is not
  if (is_ours) return home.SetPublishedSeal(seal);
  return Error{ErrorKind::kConflict, NameOf(store, newest) + " was overwritten by another program after the push",
               "send all of the model with '--anchor'"};
}

Result<std::string> TensorUnlikeVersion(VersionStore& store, uint64_t version, const CanonicalIndex& index,
                                        const Checkpoint& checkpoint, const std::string& folder, unsigned jobs,
                                        const Context& context) {
  uint64_t wire_bytes = 0;
  WD_ASSIGN(const std::vector<VersionFile> files, store.FilesOf(version, index));
  WD_TRY(store.Fetch(version, files, folder, jobs, context, &wire_bytes));
  WD_ASSIGN(const std::unique_ptr<ForeignDelta> delta, OpenForeign(folder, context.environment));
  return TensorUnlike(checkpoint, *delta, context.stop);
}

Result<> CheckOthersVersion(VersionStore& store, const PusherState& home, uint64_t newest, const Checkpoint& base,
                            const Context& context) {
  Result<CanonicalIndex> index = store.ReadIndex(newest);
  if (!index.ok() && index.error().kind == ErrorKind::kNotFound) return {};  // the model that the run begins with
  if (!index.ok()) return index.TakeError();
  if (!index->is_delta()) return {};
  const std::string folder = home.folder() + "/newest";
  RemoveTree(folder);
  WD_ASSIGN(const std::string tensor,
            TensorUnlikeVersion(store, newest, *index, base, folder, JobsOrDefault(0), context));
  RemoveTree(folder);
  RemoveTree(folder + ".json");
  if (tensor.empty()) return {};
  Error error{ErrorKind::kConflict,
              "'" + base.path() + "' is not " + NameOf(store, newest) + ": tensor '" + Shorten(tensor) + "' differs"};
  error.tensor = tensor;
  error.hint = "the base has to be the newest version; 'wdelta pull' brings a folder there";
  return error;
}

}  // namespace wdelta
