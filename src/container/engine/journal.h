// The record of changes to engines, on the disk while they are in progress.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "src/container/engine/plan.h"
#include "src/container/engine/state.h"
#include "src/host/change/disk.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::engine {

class Journal {
 public:
  // Errors: those of ReadState.
  static StatusOr<Journal> Open(const sys::Root& host, change::Disk& disk);

  // Removes saved texts that no record refers to: leftovers of a killed run.
  static Status RemoveLeftovers(const sys::Root& host, change::Disk& disk);

  // Null if there is no record. Valid until the next call that changes the journal.
  const Record* Find(const std::string& id) const;

  // Records what the plan is about to do, after saving the texts that it replaces.
  Status Begin(const Plan& plan, const std::vector<std::string>& folders, Reach needed,
               int64_t seconds);
  // The plan is done; `pending` remains to be done.
  Status Finish(const std::string& id, Reach pending);
  Status BeginRevert(const std::string& id);
  // Restores the record that Open found: nothing of the attempt is left.
  Status GiveUp(const std::string& id);
  // Everything is as before us: removes the empty folders that we created, then the record.
  Status Forget(const std::string& id);

 private:
  Journal(const sys::Root& host, change::Disk& disk, State state)
      : host_(host), disk_(disk), opened_(state), state_(std::move(state)) {}

  StatusOr<std::string> Keep(const std::string& path, const std::string& text);
  Status MergeFile(const FileStep& step, Record& record);
  Status StartOver(const FileStep& step, FileRecord& file);
  Status Save();
  Status RemoveUnusedBackups();

  const sys::Root& host_;
  change::Disk& disk_;
  State opened_;
  State state_;
};

}  // namespace kgpu::engine
