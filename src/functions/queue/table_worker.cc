#include "src/functions/queue/table_worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

#include "src/platform/base/lifetime.h"
#include "src/platform/base/mutex.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/worker_thread.h"

namespace kgpu::functions {
namespace {

constexpr size_t kMostAtOnce = 256;  // operations of one transaction
constexpr std::chrono::seconds kStopLimit{10};
constexpr std::chrono::seconds kCompactEvery{1};

struct TableTask {
  TableWorker::Operation operation;
  TableWorker::Done done;
  Status result;
};

// The last catch of the thread: an exception of a library (out of memory, say) must neither end the
// process nor leave a caller waiting for ever.
Status RunOperation(const TableTask& task, CallTable& table) {
  try {
    return task.operation(table);
  } catch (const std::exception& error) {
    return Internal("the queue's operation ended early: {}", error.what());
  }
}

// Sets the results of [first, last).
template <typename Iterator>
Status RunTogether(CallTable& table, Iterator first, Iterator last) {
  Status status = table.Begin();
  for (Iterator task = first; status.ok() && task != last; ++task) {
    task->result = RunOperation(*task, table);
    // Not found is an answer.
    status = task->result.code() == StatusCode::kNotFound ? OkStatus() : task->result;
  }
  if (status.ok()) {
    status = table.Commit();
  }
  if (!status.ok()) {
    table.Rollback();
  }
  return status;
}

// `may_compact`: whether a full disk is worth the time.
Status RunAll(CallTable& table, std::vector<TableTask>& tasks, bool may_compact) {
  Status together = RunTogether(table, tasks.begin(), tasks.end());
  if (together.ok()) {
    return together;
  }
  if (together.code() == StatusCode::kResourceExhausted && may_compact) {
    table.Compact();
  }
  for (auto task = tasks.begin(); task != tasks.end(); ++task) {
    const Status status = RunTogether(table, task, std::next(task));
    if (!status.ok()) {
      task->result = status;
    }
  }
  return together;
}

}  // namespace

class TableWorker::Impl {
 public:
  Impl(EventLoop& loop, std::string folder, TableLimits limits, Opened opened, UniqueFd wake)
      : loop_(loop),
        folder_(std::move(folder)),
        limits_(limits),
        opened_(std::move(opened)),
        done_wake_(std::move(wake)),
        thread_(loop.clock(), {.name = "kgpu-queue",
                               .stuck = fmt::format("disk not responding: {}", folder_),
                               .stop_limit = kStopLimit}) {}

  Status Start() {
    ASSIGN_OR_RETURN(watch_, loop_.WatchReadable(done_wake_.get(), [this] { Deliver(); }));
    return OkStatus();
  }

  ~Impl() {
    loop_.Unwatch(watch_);
    thread_.Stop();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Post(Operation operation, Done done) {
    bool was_working = false;
    {
      const MutexLock lock(mutex_);
      posted_.push_back({std::move(operation), std::move(done), OkStatus()});
      was_working = std::exchange(is_working_, true);
    }
    if (!was_working) {
      thread_.Post([this] { Work(); });
    }
  }

 private:
  // Empty: nothing is left to do.
  std::vector<TableTask> Next() {
    const MutexLock lock(mutex_);
    const auto end =
        posted_.begin() + static_cast<std::ptrdiff_t>(std::min(posted_.size(), kMostAtOnce));
    std::vector<TableTask> tasks(std::make_move_iterator(posted_.begin()),
                                 std::make_move_iterator(end));
    posted_.erase(posted_.begin(), end);
    is_working_ = !tasks.empty();
    return tasks;
  }

  StatusOr<CallTable*> OpenTable() {
    if (table_) {
      return &*table_;
    }
    StatusOr<CallTable::Opened> opened = CallTable::Open(folder_, limits_);
    RETURN_IF_ERROR(opened.status());
    table_.emplace(std::move(opened->table));
    const MutexLock lock(mutex_);
    found_ = Found{std::move(opened->calls), std::move(opened->note)};
    return &*table_;
  }

  void RunTasks(CallTable& table, std::vector<TableTask>& tasks) {
    const SteadyTime now = loop_.clock().Now();
    const bool may_compact = !compacted_ || now - *compacted_ >= kCompactEvery;
    const Status status = RunAll(table, tasks, may_compact);
    if (may_compact && status.code() == StatusCode::kResourceExhausted) {
      compacted_ = now;
    }
  }

  void Work() {
    for (std::vector<TableTask> tasks = Next(); !tasks.empty(); tasks = Next()) {
      const StatusOr<CallTable*> table = OpenTable();
      if (table.ok()) {
        RunTasks(**table, tasks);
      } else {
        for (TableTask& task : tasks) {
          task.result = table.status();
        }
      }
      {
        const MutexLock lock(mutex_);
        std::ranges::move(tasks, std::back_inserter(finished_));
      }
      const uint64_t one = 1;
      // Cannot fail: the counter is far from full.
      [[maybe_unused]] const ssize_t count = write(done_wake_.get(), &one, sizeof(one));
    }
  }

  // On the loop. A Done may destroy this.
  void Deliver() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t bytes = read(done_wake_.get(), &count, sizeof(count));
    std::vector<TableTask> tasks;
    std::optional<Found> found;
    {
      const MutexLock lock(mutex_);
      tasks.swap(finished_);
      found.swap(found_);
    }
    auto deliver = lifetime_.Bind([](const TableTask& task) {
      if (task.done) {
        task.done(task.result);
      }
    });
    if (found) {
      opened_(std::move(found->calls), found->note);
    }
    for (const TableTask& task : tasks) {
      deliver(task);
    }
  }

  struct Found {
    std::vector<CallRecord> calls;
    std::string note;
  };

  EventLoop& loop_;
  const std::string folder_;
  const TableLimits limits_;
  const Opened opened_;
  const UniqueFd done_wake_;
  WatchId watch_ = WatchId::kNone;
  std::optional<CallTable> table_;       // of the worker's thread
  std::optional<SteadyTime> compacted_;  // of the worker's thread: for a full disk

  Mutex mutex_;
  std::vector<TableTask> posted_ ABSL_GUARDED_BY(mutex_);
  std::vector<TableTask> finished_ ABSL_GUARDED_BY(mutex_);
  std::optional<Found> found_ ABSL_GUARDED_BY(mutex_);
  bool is_working_ ABSL_GUARDED_BY(mutex_) = false;

  Lifetime lifetime_;
  sys::WorkerThread thread_;
};

StatusOr<std::unique_ptr<TableWorker>> TableWorker::Start(EventLoop& loop, std::string folder,
                                                          TableLimits limits, Opened opened) {
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_valid()) {
    return ErrnoStatus(errno, "make an eventfd");
  }
  auto impl =
      std::make_unique<Impl>(loop, std::move(folder), limits, std::move(opened), std::move(wake));
  RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<TableWorker>(new TableWorker(std::move(impl)));
}

TableWorker::TableWorker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}

TableWorker::~TableWorker() = default;

void TableWorker::Post(Operation operation, Done done) {
  impl_->Post(std::move(operation), std::move(done));
}

}  // namespace kgpu::functions
