#include "src/functions/queue/call_table.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/functions/queue/header_text.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/time_text.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kApplicationId = 0x6b667101;  // "kfq", 1
constexpr int64_t kVersion = 1;
constexpr int64_t kPageSize = 4'096;
constexpr int kMaxBadFiles = 10;
constexpr mode_t kOwnFolder = 0700;

// Long columns are the last: rows are looked through without reading them.
constexpr char kSchema[] = R"(
CREATE TABLE calls(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  call_id TEXT NOT NULL, function TEXT NOT NULL, method TEXT NOT NULL,
  bytes INTEGER NOT NULL, arrived INTEGER NOT NULL, attempts INTEGER NOT NULL,
  retries INTEGER NOT NULL, retries_left INTEGER NOT NULL, not_before INTEGER NOT NULL, is_dead INTEGER NOT NULL,
  code INTEGER NOT NULL, problem TEXT NOT NULL, callback TEXT NOT NULL,
  target BLOB NOT NULL, headers BLOB NOT NULL, body BLOB NOT NULL);
CREATE TABLE keys(
  function TEXT NOT NULL, key TEXT NOT NULL, call_id TEXT NOT NULL, arrived INTEGER NOT NULL,
  PRIMARY KEY(function, key)) WITHOUT ROWID;
CREATE INDEX keys_by_age ON keys(arrived);
)";

constexpr std::string_view kColumns =
    "number, call_id, function, method, bytes, arrived, attempts, retries_left, not_before, "
    "is_dead, code, problem, callback, target, retries";

int64_t Milliseconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

WallTime FromMilliseconds(int64_t count) {
  constexpr auto kLast = static_cast<int64_t>(kLastCount<std::chrono::milliseconds>);
  return WallTime(std::chrono::milliseconds(std::clamp<int64_t>(count, 0, kLast)));
}

// Of a row with kColumns.
CallRecord RecordOf(const Statement& row) {
  return {.number = row.Number(0),
          .call_id = std::string(row.Text(1)),
          .function = std::string(row.Text(2)),
          .method = std::string(row.Text(3)),
          .target = std::string(row.Text(13)),
          .bytes = static_cast<size_t>(row.Number(4)),
          .arrived = FromMilliseconds(row.Number(5)),
          .attempts = row.Number(6),
          .retries = row.Number(14),
          .retries_left = row.Number(7),
          .not_before = FromMilliseconds(row.Number(8)),
          .is_dead = row.Number(9) != 0,
          .code = static_cast<int>(row.Number(10)),
          .problem = std::string(row.Text(11)),
          .callback = std::string(row.Text(12))};
}

// With what SQLite keeps beside it: a log without its file would be applied to the next one.
StatusOr<std::string> PutAside(const std::string& path) {
  for (int i = 0; i < kMaxBadFiles; ++i) {
    std::string bad = path + (i == 0 ? ".bad" : fmt::format(".bad.{}", i));
    std::error_code error;
    if (fs::exists(bad, error)) {
      continue;
    }
    for (const char* suffix : {"-wal", "-shm", "-journal"}) {
      (void)std::rename((path + suffix).c_str(), (bad + suffix).c_str());
    }
    if (std::rename(path.c_str(), bad.c_str()) != 0) {
      return ErrnoStatus(errno, "rename " + path);
    }
    return bad;
  }
  return FailedPrecondition(
      "{}: cannot be read, and there are {} bad files beside it: move them away", path,
      kMaxBadFiles);
}

Status MakeQueueFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || chmod(folder.c_str(), kOwnFolder) != 0) {
    return ErrnoStatus(error ? error.value() : errno, "create " + folder);
  }
  return sys::SyncFolder(fs::path(folder).parent_path());
}

}  // namespace

StatusOr<CallTable::Opened> CallTable::Open(const std::string& folder, const TableLimits& limits) {
  RETURN_IF_ERROR(MakeQueueFolder(folder));
  const std::string path = folder + "/calls.db";
  StatusOr<Opened> opened = OpenFile(path, limits);
  if (opened.status().code() != StatusCode::kDataLoss) {
    return opened;
  }
  ASSIGN_OR_RETURN(const std::string bad, PutAside(path));
  std::string note =
      fmt::format("{}; it is kept as {}; its calls are not made", Message(opened.status()), bad);
  opened = OpenFile(path, limits);
  if (opened.ok()) {
    opened->note = std::move(note);
  }
  return opened;
}

StatusOr<CallTable::Opened> CallTable::OpenFile(const std::string& path,
                                                const TableLimits& limits) {
  StatusOr<Database> database = Database::Open(path);
  RETURN_IF_ERROR(Annotate(database.status(), "{}", path));
  CallTable table(*std::move(database), limits);
  RETURN_IF_ERROR(Annotate(table.SetUp(), "{}", path));
  StatusOr<std::vector<CallRecord>> calls = table.ReadAll();
  RETURN_IF_ERROR(Annotate(calls.status(), "{}", path));
  // SQLite syncs what it writes; the name of a new file is ours to keep.
  RETURN_IF_ERROR(sys::SyncFolder(fs::path(path).parent_path()));
  return Opened{.table = std::move(table), .calls = *std::move(calls)};
}

Status CallTable::SetUp() {
  // Nobody else reads the file: the exclusive lock also spares SQLite the memory that it would
  // share. auto_vacuum must come before the first table. Debian's SQLite overwrites what is removed
  // with zeros by default: on a full disk, nothing could be removed.
  RETURN_IF_ERROR(database_.Run(
      "PRAGMA locking_mode=EXCLUSIVE; PRAGMA auto_vacuum=INCREMENTAL;"
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
      "PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-8192;"
      "PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF; PRAGMA secure_delete=OFF;"));
  ASSIGN_OR_RETURN(Statement limit, database_.Prepare(fmt::format(
                                        "PRAGMA max_page_count={}",
                                        static_cast<int64_t>(limits_.file_bytes) / kPageSize)));
  RETURN_IF_ERROR(limit.Run());
  ASSIGN_OR_RETURN(const int64_t id, database_.Number("PRAGMA application_id"));
  ASSIGN_OR_RETURN(const int64_t version, database_.Number("PRAGMA user_version"));
  ASSIGN_OR_RETURN(const int64_t tables, database_.Number("SELECT count(*) FROM sqlite_schema"));
  if (id == 0 && tables == 0) {
    RETURN_IF_ERROR(database_.Run("BEGIN IMMEDIATE"));
    RETURN_IF_ERROR(database_.Run(kSchema));
    RETURN_IF_ERROR(database_.Run(
        fmt::format("PRAGMA application_id={}; PRAGMA user_version={};", kApplicationId, kVersion)
            .c_str()));
    return database_.Run("COMMIT");
  }
  if (id != kApplicationId) {
    return MakeStatus(StatusCode::kDataLoss, "is the database of another program");
  }
  if (version != kVersion) {
    return FailedPrecondition(
        "has version {}, and this kgpu reads version {}: use the kgpu that wrote it, or move the "
        "file away",
        version, kVersion);
  }
  return OkStatus();
}

StatusOr<std::vector<CallRecord>> CallTable::ReadAll() {
  std::vector<CallRecord> calls;
  RETURN_IF_ERROR(Visit({}, {}, [&calls](const CallRecord& call, CallState) {
    calls.push_back(call);
    // What the loop does not need to remember.
    calls.back().target.clear();
    calls.back().call_id.clear();
    calls.back().problem.clear();
    return true;
  }));
  return calls;
}

Status CallTable::Begin() {
  return database_.Run("BEGIN IMMEDIATE");
}

Status CallTable::Commit() {
  return database_.Run("COMMIT");
}

void CallTable::Rollback() {
  if (database_.is_in_transaction()) {
    (void)database_.Run("ROLLBACK");
  }
}

StatusOr<CallTable::Stored> CallTable::Put(const CallRecord& call) {
  if (!call.idempotency_key.empty()) {
    ASSIGN_OR_RETURN(Statement found, database_.Prepare("SELECT call_id FROM keys WHERE function=? "
                                                        "AND key=? AND arrived>?"));
    found.Bind(call.function)
        .Bind(call.idempotency_key)
        .Bind(Milliseconds(call.arrived - limits_.key_lifetime));
    ASSIGN_OR_RETURN(const bool is_known, found.Step());
    if (is_known) {
      return Stored{.number = 0, .call_id = std::string(found.Text(0))};
    }
    ASSIGN_OR_RETURN(Statement key,
                     database_.Prepare("INSERT OR REPLACE INTO keys VALUES(?, ?, ?, ?)"));
    key.Bind(call.function)
        .Bind(call.idempotency_key)
        .Bind(call.call_id)
        .Bind(Milliseconds(call.arrived));
    RETURN_IF_ERROR(key.Run());
  }
  ASSIGN_OR_RETURN(const std::string headers, EncodeHeaders(call.headers));
  ASSIGN_OR_RETURN(
      Statement insert,
      database_.Prepare("INSERT INTO calls(call_id, function, method, bytes, arrived, attempts, "
                        "retries, retries_left, not_before, is_dead, code, problem, callback, "
                        "target, headers, body) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  insert.Bind(call.call_id)
      .Bind(call.function)
      .Bind(call.method)
      .Bind(static_cast<int64_t>(call.bytes))
      .Bind(Milliseconds(call.arrived))
      .Bind(call.attempts)
      .Bind(call.retries)
      .Bind(call.retries_left)
      .Bind(Milliseconds(call.not_before))
      .Bind(int64_t{call.is_dead ? 1 : 0})
      .Bind(int64_t{call.code})
      .Bind(call.problem)
      .Bind(call.callback)
      .BindBytes(call.target)
      .BindBytes(headers)
      .BindBytes(call.body);
  RETURN_IF_ERROR(insert.Run());
  return Stored{.number = database_.last_row(), .call_id = call.call_id};
}

StatusOr<CallRecord> CallTable::Read(int64_t number) {
  ASSIGN_OR_RETURN(Statement row,
                   database_.Prepare(fmt::format("SELECT {}, headers, body FROM calls WHERE "
                                                 "number=?",
                                                 kColumns)));
  row.Bind(number);
  ASSIGN_OR_RETURN(const bool is_there, row.Step());
  if (!is_there) {
    return NotFound("call {}: is not in the queue", number);
  }
  CallRecord call = RecordOf(row);
  ASSIGN_OR_RETURN(call.headers, DecodeHeaders(row.Text(15)));
  call.body = row.Text(16);
  return call;
}

Status CallTable::Update(const CallRecord& call) {
  ASSIGN_OR_RETURN(Statement update,
                   database_.Prepare("UPDATE calls SET arrived=?, attempts=?, retries_left=?, "
                                     "not_before=?, is_dead=?, code=?, problem=? WHERE number=?"));
  return update.Bind(Milliseconds(call.arrived))
      .Bind(call.attempts)
      .Bind(call.retries_left)
      .Bind(Milliseconds(call.not_before))
      .Bind(int64_t{call.is_dead ? 1 : 0})
      .Bind(int64_t{call.code})
      .Bind(call.problem)
      .Bind(call.number)
      .Run();
}

Status CallTable::PutAnswer(const CallRecord& call) {
  ASSIGN_OR_RETURN(const std::string headers, EncodeHeaders(call.headers));
  ASSIGN_OR_RETURN(Statement update,
                   database_.Prepare("UPDATE calls SET bytes=?, attempts=?, code=?, headers=?, "
                                     "body=? WHERE number=?"));
  return update.Bind(static_cast<int64_t>(call.bytes))
      .Bind(call.attempts)
      .Bind(int64_t{call.code})
      .BindBytes(headers)
      .BindBytes(call.body)
      .Bind(call.number)
      .Run();
}

Status CallTable::Remove(int64_t number) {
  ASSIGN_OR_RETURN(Statement remove, database_.Prepare("DELETE FROM calls WHERE number=?"));
  return remove.Bind(number).Run();
}

Status CallTable::RemoveFunction(const std::string& function, WallTime arrived_by) {
  for (const char* sql : {"DELETE FROM calls WHERE function=? AND arrived<=?",
                          "DELETE FROM keys WHERE function=? AND arrived<=?"}) {
    ASSIGN_OR_RETURN(Statement remove, database_.Prepare(sql));
    RETURN_IF_ERROR(remove.Bind(function).Bind(Milliseconds(arrived_by)).Run());
  }
  return OkStatus();
}

Status CallTable::Visit(const CallSelection& selection, const std::set<int64_t>& running,
                        const std::function<bool(const CallRecord&, CallState)>& visit) {
  ASSIGN_OR_RETURN(Statement rows, database_.Prepare(fmt::format(
                                       "SELECT {} FROM calls ORDER BY number", kColumns)));
  while (true) {
    ASSIGN_OR_RETURN(const bool has_row, rows.Step());
    if (!has_row) {
      return OkStatus();
    }
    const std::string id(rows.Text(1));
    const CallState state =
        rows.Number(9) != 0
            ? CallState::kDead
            : (running.contains(rows.Number(0)) ? CallState::kRunning : CallState::kWaiting);
    const bool is_meant = (selection.function.empty() || rows.Text(2) == selection.function) &&
                          (selection.ids.empty() || selection.ids.contains(id)) &&
                          (!selection.state || *selection.state == state);
    if (is_meant && !visit(RecordOf(rows), state)) {
      return OkStatus();
    }
  }
}

void CallTable::Compact() {
  (void)database_.Run("PRAGMA incremental_vacuum");
  (void)database_.Run("PRAGMA wal_checkpoint(TRUNCATE)");
}

Status CallTable::CleanUp(WallTime now) {
  ASSIGN_OR_RETURN(Statement old, database_.Prepare("DELETE FROM keys WHERE arrived<=?"));
  RETURN_IF_ERROR(old.Bind(Milliseconds(now - limits_.key_lifetime)).Run());
  ASSIGN_OR_RETURN(const int64_t keys, database_.Number("SELECT count(*) FROM keys"));
  if (const int64_t over = keys - static_cast<int64_t>(limits_.keys); over > 0) {
    ASSIGN_OR_RETURN(
        Statement oldest,
        database_.Prepare("DELETE FROM keys WHERE (function, key) IN (SELECT function, "
                          "key FROM keys ORDER BY arrived LIMIT ?)"));
    RETURN_IF_ERROR(oldest.Bind(over).Run());
  }
  ASSIGN_OR_RETURN(Statement vacuum, database_.Prepare("PRAGMA incremental_vacuum(4096)"));
  return vacuum.Run();
}

}  // namespace kgpu::functions
