// Names for records, and going back to one.
#include "calls/tag.h"

#include "sync/collection_fence.h"
#include "sync/record_commit.h"
#include "sync/record_info.h"

namespace wdelta {

namespace {

Result<bool> IsThere(Remote& remote, const Way& way) {
  for (const ObjectRef& object : way.objects) {
    WD_ASSIGN(const std::optional<ObjectInfo> info, remote.Stat(ObjectKey(object.sha256)));
    if (!info) return false;
  }
  return true;
}

}  // namespace

Result<bool> TagAndKeep(Remote& remote, const std::string& name, const RecordEntry& entry, bool force,
                        const Context& context) {
  WD_TRY(WriteTag(remote, name, entry, force));
  WD_TRY(WaitForSweeps(remote, context));
  for (const std::optional<Way>* way : {&entry.delta, &entry.anchor}) {
    if (!way->has_value()) continue;
    WD_ASSIGN(const bool there, IsThere(remote, **way));
    if (there) return true;
  }
  return false;
}

Result<RecordInfo> TagRecord(const TagRequest& request, const Context& context) {
  WD_TRY(CheckTagName(request.name));
  WD_ASSIGN(const RemoteName name, ParseRemoteName(request.remote));
  WD_ASSIGN(const std::unique_ptr<Remote> remote, OpenRemote(name.url, request.transfer, context));
  RemoteHistory history(*remote);
  if (request.remove) {
    WD_ASSIGN(const Revision revision, ParseRevision(request.name));
    WD_ASSIGN(const RecordEntry entry, history.Resolve(revision));
    WD_TRY(remote->Remove(TagKey(request.name)));
    return InfoOf(entry);
  }
  WD_ASSIGN(const RecordEntry entry, history.Resolve(name.revision));
  WD_ASSIGN(const bool kept, TagAndKeep(*remote, request.name, entry, request.force, context));
  if (!kept) {
    context.note("the objects of record " + std::to_string(entry.number) +
                 " have been collected: the tag names it, and cannot keep it");
  }
  RecordInfo info = InfoOf(entry);
  info.tags = {request.name};
  return info;
}

Result<PushReport> Revert(const RevertRequest& request, const Context& context) {
  // Both ends are rebuilt beside each other; the difference between them is an ordinary delta.
  const std::string folder = TemporaryNameBeside((request.work.empty() ? "." : request.work) + "/revert");
  const auto revert = [&]() -> Result<PushReport> {
    PullRequest pull;
    pull.folder = folder;
    pull.transfer = request.transfer;
    pull.remote = request.remote + "@" + request.to;
    WD_ASSIGN(const PullReport old_version, Pull(pull, context));
    pull.remote = request.remote;
    WD_ASSIGN(const PullReport newest, Pull(pull, context));
    PackRequest pack;
    pack.inputs = {newest.path, old_version.path};
    pack.output = folder + "/revert.wdp";
    pack.files = {{"*"}, {}};  // pulled versions hold exactly the files of their checkpoints
    WD_TRY(Pack(pack, context));
    PushRequest push;
    push.source = pack.output;
    push.remote = request.remote;
    push.step = request.step ? request.step : old_version.record.step;
    push.transfer = request.transfer;
    return Push(push, context);
  };
  Result<PushReport> report = revert();
  RemoveTree(folder);
  return report;
}

}  // namespace wdelta
