// Commands of `kgpu node` that change the Node object: read it, plan, show or send.
#pragma once

#include <set>
#include <string>

#include "src/cli/exit_code.h"
#include "src/cli/node_api.h"
#include "src/cli/node_carry.h"
#include "src/node/object/owners.h"
#include "src/platform/base/status.h"

namespace kgpu::cli {

// Plans on the node as it is and sends that, again when the node changed meanwhile; prints what
// was (or with --dry-run would be) done. With a dry run the server checks the request.
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
  bool force = false;
};

// Does each part though another fails, and gives the first error; `change` holds what was done to
// the node it names.
Status ClearNode(NodeApi& api, const ClearOptions& options, NodeChange& change);
StatusOr<ExitCode> RunClear(const ClearOptions& options);

}  // namespace kgpu::cli
