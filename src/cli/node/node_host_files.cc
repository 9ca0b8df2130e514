#include <boost/json.hpp>

#include <utility>

#include "src/agent/host_files.h"
#include "src/cli/base/output.h"
#include "src/cli/node/node_change.h"
#include "src/node/labels/feature_files.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/doc/json_texts.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;

// The file that NFD's worker reads.
Status RemoveOwnFeatureFile(const sys::Root& root, bool is_dry_run, agent::HostFiles& files) {
  const std::string path =
      fmt::format("{}/{}", labels::kFeatureFilesFolder, labels::kOwnFeatureFile);
  if (!root.Exists(path)) {
    return OkStatus();
  }
  if (!is_dry_run) {
    RETURN_IF_ERROR(labels::RemoveFeatureFile(root, labels::kFeatureFilesFolder));
  }
  files.removed.push_back(path.starts_with('/') ? path : "/" + path);
  return OkStatus();
}

}  // namespace

StatusOr<ExitCode> ClearOnlyHostFiles(const ClearOptions& options, OutputFormat format) {
  ASSIGN_OR_RETURN(const sys::Root root,
                   sys::Root::Open(options.host_root.empty() ? "/" : options.host_root));
  const bool is_dry_run = options.common.is_dry_run;
  agent::HostFiles files;
  Status status = agent::RemoveHostFiles(root, options.kubelet_dir, is_dry_run, files);
  status.Update(RemoveOwnFeatureFile(root, is_dry_run, files));
  std::string text;
  for (const std::string& path : files.removed) {
    text += fmt::format("file - {}{}\n", path, is_dry_run ? " (dry run)" : "");
  }
  for (const std::string& path : files.stays) {
    text += fmt::format("stays: {}\n", path);
  }
  for (const std::string& program : files.running) {
    text += fmt::format("still runs: {}\n", program);
  }
  RETURN_IF_ERROR(PrintAs(format, text.empty() ? "no files of an agent\n" : text,
                          json::object{{"dryRun", is_dry_run},
                                       {"removed", doc::Texts(files.removed)},
                                       {"stays", doc::Texts(files.stays)},
                                       {"running", doc::Texts(files.running)}}));
  return OkOr(status);
}

}  // namespace kgpu::cli
