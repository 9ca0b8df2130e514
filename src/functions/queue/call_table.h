// The calls of the queue on disk, in one SQLite file. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/functions/queue/call_record.h"
#include "src/functions/queue/database.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

struct TableLimits {
  size_t file_bytes = size_t{3} << 30;  // of the database; over it, the disk counts as full
  size_t keys = 200'000;                // idempotency keys; the oldest go
  std::chrono::hours key_lifetime{24};  // a call with the same key is the same call
};

// Which calls a request means: those that match all that is set.
struct CallSelection {
  std::string function{};       // empty: any
  std::set<std::string> ids{};  // call ids; empty: any
  std::optional<CallState> state{};
};

class CallTable {
 public:
  struct Opened;
  // Opens `folder`/calls.db; makes both if they are missing. A file that is damaged, or another
  // program's, is renamed to "calls.db.bad", and an empty one takes its place. Errors: those of
  // Database and of the folder; FailedPrecondition (a newer kgpu wrote it; too many bad files).
  static StatusOr<Opened> Open(const std::string& folder, const TableLimits& limits);

  // One transaction, which is on the disk when Commit returns OK. Errors: those of Database.
  Status Begin();
  Status Commit();
  void Rollback();

  struct Stored {
    int64_t number = 0;   // 0: it was stored before
    std::string call_id;  // of the first call with this key
  };
  // Stores a call, unless there was one with the same function and idempotency key lately.
  StatusOr<Stored> Put(const CallRecord& call);
  // Errors: NotFound; those of Database.
  StatusOr<CallRecord> Read(int64_t number);
  // Writes arrived, attempts, retries_left, not_before, is_dead, code and problem.
  Status Update(const CallRecord& call);
  // Writes headers, body, bytes, attempts and code: see Answered.
  Status PutAnswer(const CallRecord& call);
  Status Remove(int64_t number);
  // Its calls and keys that have arrived by then.
  Status RemoveFunction(const std::string& function, WallTime arrived_by = WallTime::max());
  // Calls, without headers and body, in the order of arrival; `running` are those whose attempt is
  // under way. Ends when `visit` returns false.
  Status Visit(const CallSelection& selection, const std::set<int64_t>& running,
               const std::function<bool(const CallRecord&, CallState)>& visit);
  // Gives the space of removed calls back to the file system, as far as there is room to do so.
  // Outside of a transaction.
  void Compact();
  // Drops old idempotency keys, and gives space back to the file system.
  Status CleanUp(WallTime now);

 private:
  CallTable(Database database, const TableLimits& limits)
      : database_(std::move(database)), limits_(limits) {}
  Status SetUp();
  StatusOr<std::vector<CallRecord>> ReadAll();
  static StatusOr<Opened> OpenFile(const std::string& path, const TableLimits& limits);

  Database database_;
  TableLimits limits_;
};

struct CallTable::Opened {
  CallTable table;
  std::vector<CallRecord> calls{};  // without headers and body
  std::string note{};               // what happened to a file that could not be used; may be empty
};

}  // namespace kgpu::functions
