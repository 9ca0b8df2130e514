// The folder of a device's daemon: made, read, kept small. Containers can write to the pipe folder
// in it, so nothing there is trusted.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "src/node/mps/lasting_process.h"
#include "src/node/mps/text.h"
#include "src/platform/base/status.h"

namespace kgpu::mps {

// The folder with those for pipes and logs. With SELinux, the pipes' gets the label of containers.
// A folder that exists stays the same: containers have it mounted. Errors: those of mkdir(2),
// chmod(2), lsetxattr(2).
Status MakeFolders(const std::string& folder, bool has_selinux);

// Moves a process to a cgroup, with what it starts; the cgroup is made if it is missing. Empty:
// does nothing. Errors: NotFound (version 1 has no such file there), those of mkdir(2), write(2);
// FailedPrecondition (it is still in our own, or below it: a private cgroup namespace).
Status MoveToCgroup(const std::string& cgroup, pid_t pid);

// Errors: those of WriteFileAtomically.
Status WriteRecord(const std::string& folder, const Record& record);
void RemoveRecord(const std::string& folder);

// Makes a folder that containers can write to ours again, with this mode: root in a container may
// have changed both. Errors: those of open(2), if it is a link, too; fchown(2), fchmod(2).
Status OwnFolder(const std::string& path, mode_t mode);
// Removes what is in a folder, without following links: containers can write there. Errors:
// ResourceExhausted (10,000 entries are removed, and there are more), those of open(2),
// unlinkat(2).
Status EmptyFolder(const std::string& path);
// Tells daemon, servers and control program where their pipes are; for the environment.
std::string PipeVariable(const std::string& folder);

struct Found {
  LastingProcess process;
  Settings settings;
};
// The daemon that an earlier agent has started; nothing: it runs no more. The record must be ours:
// in a folder that only we can write to.
std::optional<Found> FindByRecord(const std::string& folder);
// What runs of MPS in this folder, once its daemon has ended or nobody knows one: servers, and
// daemons without a record. They are in the session of the record's daemon, or have this folder in
// their environment. Servers of a daemon that lives are found only once that has ended. Source:
// proc(5): comm, which ends after 15 bytes, stat and environ. At most 64.
std::vector<LastingProcess> FindLeft(const std::string& folder);

// Empties logs of more than 1 MiB: the daemon appends to them for as long as it lives.
void ShortenLogs(const std::string& folder);

}  // namespace kgpu::mps
