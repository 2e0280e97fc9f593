// Names for records.
#include "calls/tag.h"

#include "core/boundary.h"
#include "sync/gc_fence.h"
#include "sync/record_commit.h"
#include "sync/record_info.h"
#include "sync/session.h"
#include "wdelta.h"

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

namespace {

Result<RecordInfo> DoTagRecord(const TagRequest& request, const Context& context) {
  WD_TRY(CheckTagName(request.name));
  WD_ASSIGN(Session session, Session::Open(request.remote, request.transfer, context));
  if (request.remove) {
    WD_ASSIGN(const Revision revision, ParseRevision(request.name));
    WD_ASSIGN(const RecordEntry entry, session.history().Resolve(revision));
    WD_TRY(session.remote().Remove(TagKey(request.name)));
    return InfoOf(entry);
  }
  WD_ASSIGN(const RecordEntry entry, session.Resolve());
  WD_ASSIGN(const bool kept, TagAndKeep(session.remote(), request.name, entry, request.force, context));
  if (!kept) {
    context.note("the objects of record " + std::to_string(entry.number) +
                 " have been collected: the tag names it, and cannot keep it");
  }
  RecordInfo info = InfoOf(entry);
  info.tags = {request.name};
  return info;
}

}  // namespace

Result<RecordInfo> TagRecord(const TagRequest& request, const Context& context) {
  return Guarded(DoTagRecord, request, context);
}

}  // namespace wdelta
