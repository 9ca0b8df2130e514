// `kgpu node` commands that change the Node object: read it, plan, show or send.
#pragma once

#include <set>
#include <string>

#include "src/cli/base/exit_code.h"
#include "src/cli/base/node_api.h"
#include "src/cli/base/output.h"
#include "src/cli/node/node_carry.h"
#include "src/node/object/owners.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// Plans for the current node and sends the plan, again if the node has changed meanwhile; prints
// what was done, or with --dry-run would be done. In a dry run, the server validates the request.
StatusOr<ExitCode> ChangeNode(const NodeOptions& options, const PlanEdit& plan);

struct DecideOptions {
  NodeOptions common;
  std::string from = "all";  // nfd, gfd, plugin or all
  bool forget = false;
};

StatusOr<ExitCode> RunAdopt(const DecideOptions& options);
StatusOr<ExitCode> RunRelease(const DecideOptions& options);

struct ClearOptions {
  NodeOptions common;
  std::string run_dir;
  std::string host_root;
  std::string kubelet_dir;  // empty: the usual one of the host
  bool force = false;
  bool only_host_files = false;
};

// What an agent has left on this host, without the Node object. No agent may run.
StatusOr<ExitCode> ClearOnlyHostFiles(const ClearOptions& options, OutputFormat format);

// Continues with each part even if another fails, and returns the first error; `change` records
// what was done to the node it names.
Status ClearNode(NodeApi& api, const ClearOptions& options, NodeChange& change);
StatusOr<ExitCode> RunClear(const ClearOptions& options);

}  // namespace kgpu::cli
