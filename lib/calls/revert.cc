// Revert: a record with the state of an older one. Both ends are rebuilt beside each other in a temporary folder; the
// difference between them is an ordinary delta.
#include "core/boundary.h"
#include "sync/pusher.h"
#include "sync/route_fetch.h"
#include "walk/rebuild.h"
#include "wdelta.h"

namespace wdelta {

Result<PushReport> Revert(const RevertRequest& request, const Context& context) {
  return Guarded([&]() -> Result<PushReport> {
    WD_ASSIGN(Session session, Session::Open(request.remote + "@" + request.to, request.transfer, context));
    WD_ASSIGN(const RecordEntry older, session.Resolve());
    const TemporaryTree work(TemporaryNameBeside((request.work.empty() ? "." : request.work) + "/revert"));
    WD_ASSIGN(const RecordEntry newest, session.history().Resolve({}));
    WD_TRY(CreateFolder(work.path));
    WD_TRY(CreateFolder(work.path + "/packs"));
    RouteFetch fetch(session.history(), PackStore(work.path + "/packs"), session.jobs(), context);
    const FileChoice all{{"*"}, {}};  // the folders hold exactly the files of their checkpoints
    // Rebuilds a record, from `start` at `start_path` if there is one and that is cheaper, and tells where it lies.
    const auto build = [&](const RecordEntry& entry, const RecordEntry* start,
                           const std::string& start_path) -> Result<std::string> {
      const auto have = [&](const RecordEntry& other) { return start && other.state == start->state; };
      WD_ASSIGN(const Route route, fetch.PlanAndFetch(entry, have, start != nullptr));
      if (route.ways.empty()) return start_path;
      const std::string path = work.path + "/" + std::to_string(entry.number);
      WD_ASSIGN(const OpenedTarget opened, OpenRoute(route, fetch.packs(), start_path, all, context));
      WD_ASSIGN(const Rebuilt rebuilt, RebuildCopy(opened, path + "/", false, context));
      if (rebuilt.proof.state() == entry.state) return path;
      return Error{ErrorKind::kIntegrity,
                   "record " + std::to_string(entry.number) + " does not rebuild to the state that it names"};
    };
    WD_ASSIGN(const std::string older_path, build(older, nullptr, {}));
    WD_ASSIGN(const std::string newest_path, build(newest, &older, older_path));
    WD_ASSIGN(const Checkpoint base, Checkpoint::Open(newest_path, all, context.note));
    WD_ASSIGN(const Checkpoint next, Checkpoint::Open(older_path, all, context.note));
    WD_ASSIGN(const ReadyPack pack, WritePack(&base, next, work.path + "/revert.wdp", Level::kDefault, context));
    PushOptions options;
    options.source = pack.path();
    options.step = request.step ? request.step : older.step;
    return PushReadyPack(session, pack, options, context);
  });
}

}  // namespace wdelta
