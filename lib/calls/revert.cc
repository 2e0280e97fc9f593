// Revert: a record with the state of an older one. Both ends are rebuilt beside each other in a temporary folder; the
// difference between them is an ordinary delta.
#include "core/boundary.h"
#include "sync/pusher.h"
#include "sync/route_fetch.h"
#include "walk/rebuild.h"
#include "wdelta.h"

namespace wdelta {

namespace {

class Reverter {
 public:
  Reverter(Session& session, std::string folder, const Context& context)
      : session_(session),
        folder_(std::move(folder)),
        fetch_(session.history(), PackStore(folder_ + "/packs"), session.jobs(), context),
        context_(context) {}

  Result<PushReport> Run(const RecordEntry& older, std::optional<uint64_t> step) {
    WD_ASSIGN(const RecordEntry newest, session_.history().Resolve({}));
    WD_TRY(CreateFolder(folder_));
    WD_TRY(CreateFolder(folder_ + "/packs"));
    WD_ASSIGN(const std::string older_path, Build(older, nullptr, {}));
    WD_ASSIGN(const std::string newest_path, Build(newest, &older, older_path));
    const FileChoice all{{"*"}, {}};  // the folders hold exactly the files of their checkpoints
    WD_ASSIGN(const Checkpoint base, Checkpoint::Open(newest_path, all, context_.note));
    WD_ASSIGN(const Checkpoint next, Checkpoint::Open(older_path, all, context_.note));
    WD_ASSIGN(const ReadyPack pack, WritePack(&base, next, folder_ + "/revert.wdp", Level::kDefault, context_));
    PushOptions options;
    options.source = pack.path();
    options.step = step ? step : older.step;
    return PushReadyPack(session_, pack, options, context_);
  }

 private:
  // Rebuilds a record, from `start` at `start_path` if there is one and that is cheaper, and tells where it lies.
  Result<std::string> Build(const RecordEntry& entry, const RecordEntry* start, const std::string& start_path) {
    const auto have = [&](const RecordEntry& other) { return start && other.state == start->state; };
    WD_ASSIGN(const Route route, fetch_.PlanAndFetch(entry, have, start != nullptr));
    if (route.ways.empty()) return start_path;
    const std::string path = folder_ + "/" + std::to_string(entry.number);
    WD_ASSIGN(const OpenedTarget opened, OpenRoute(route, fetch_.packs(), start_path, {{"*"}, {}}, context_));
    WD_ASSIGN(const Rebuilt rebuilt, RebuildCopy(opened, path + "/", false, context_));
    if (rebuilt.proof.state() == entry.state) return path;
    return Error{ErrorKind::kIntegrity,
                 "record " + std::to_string(entry.number) + " does not rebuild to the state that it names"};
  }

  Session& session_;
  const std::string folder_;
  RouteFetch fetch_;
  const Context& context_;
};

Result<PushReport> DoRevert(const RevertRequest& request, const Context& context) {
  WD_ASSIGN(Session session, Session::Open(request.remote + "@" + request.to, request.transfer, context));
  WD_ASSIGN(const RecordEntry older, session.Resolve());
  const std::string folder = TemporaryNameBeside((request.work.empty() ? "." : request.work) + "/revert");
  Result<PushReport> report = Reverter(session, folder, context).Run(older, request.step);
  RemoveTree(folder);
  return report;
}

}  // namespace

Result<PushReport> Revert(const RevertRequest& request, const Context& context) {
  return Guarded(DoRevert, request, context);
}

}  // namespace wdelta
