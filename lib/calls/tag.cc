// Names for records.
#include "core/boundary.h"
#include "sync/record_commit.h"
#include "sync/session.h"
#include "wdelta.h"

namespace wdelta {

Result<RecordInfo> TagRecord(const TagRequest& request, const Context& context) {
  return Guarded([&]() -> Result<RecordInfo> {
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
                   " were removed by gc: the tag names the record, but does not protect it");
    }
    RecordInfo info = InfoOf(entry);
    info.tags = {request.name};
    return info;
  });
}

}  // namespace wdelta
