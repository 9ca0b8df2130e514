#include "src/functions/init/init.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "src/functions/init/config_text.h"
#include "src/functions/runtimes/runtimes.h"
#include "src/functions/spec/checks.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/sys/atomic_file.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfigName = "config.yaml";
constexpr std::string_view kTemplateSources = "src/";

Status CheckNewFunction(const NewFunction& request) {
  RETURN_IF_ERROR(Annotate(CheckFunctionName(request.name), "NAME"));
  RETURN_IF_ERROR(Annotate(CheckRuntimeName(request.runtime), "--runtime"));
  RETURN_IF_ERROR(Annotate(CheckHandlerDir(request.dir), "--dir"));
  if (fs::path(request.dir).lexically_normal().relative_path() == ".") {
    return InvalidArgument("--dir: \"{}\" must be a folder below {}: ./src", request.dir,
                           request.name);
  }
  if (request.gpus < kGpuRange.low || request.gpus > kGpuRange.high) {
    return InvalidArgument("--gpus: {} must be between {} and {}", request.gpus, kGpuRange.low,
                           kGpuRange.high);
  }
  return request.gateway.empty() ? OkStatus()
                                 : Annotate(CheckGateway(request.gateway), "--gateway");
}

// The handler's folder below the function's own, "src" for "./src/".
fs::path SourcesOf(const NewFunction& request) {
  const fs::path dir = fs::path(request.dir).lexically_normal();
  return dir.has_filename() ? dir : dir.parent_path();
}

// A template has its handler in src, and beside src what the build reads.
std::vector<NewFile> FilesOf(const NewFunction& request, const Runtime& runtime) {
  const fs::path sources = SourcesOf(request);
  std::vector<NewFile> files;
  for (const EmbeddedFile& file : TemplateFiles(runtime)) {
    const bool is_source = file.path.starts_with(kTemplateSources);
    const fs::path path = is_source ? sources / file.path.substr(kTemplateSources.size())
                                    : sources.parent_path() / file.path;
    files.push_back({.path = path.string(), .text = std::string(file.text)});
  }
  return files;
}

Function FunctionOf(const NewFunction& request, const Runtime& runtime, const std::string& prefix) {
  return {.name = request.name,
          .runtime = std::string(runtime.name),
          .handler = {.dir = fmt::format("./{}{}", prefix, SourcesOf(request).string()),
                      .file = std::string(runtime.handler_file),
                      .name = std::string(runtime.handler_name)},
          .gpu = {.count = request.gpus}};
}

Status WriteNewFile(const fs::path& folder, const NewFile& file) {
  const fs::path path = folder / file.path;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) {
    return ErrnoStatus(error.value(), path.parent_path().string());
  }
  return sys::WriteFileAtomically(path.string(), file.text);
}

Status WriteFolder(const fs::path& folder, const std::vector<NewFile>& files) {
  for (const NewFile& file : files) {
    RETURN_IF_ERROR(WriteNewFile(folder, file));
  }
  // mkdtemp has made it for its owner alone; sources are read by others, too.
  return chmod(folder.c_str(), 0755) == 0 ? OkStatus() : ErrnoStatus(errno, folder.string());
}

// Gives the folder its name, unless something has it.
Status Publish(const std::string& temporary, const std::string& folder) {
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, folder.c_str(), RENAME_NOREPLACE) == 0) {
    return sys::SyncFolder(
        fs::path(folder).parent_path().empty() ? "." : fs::path(folder).parent_path().string());
  }
  return errno == EEXIST ? AlreadyExists("{}: it exists: choose another name, or remove it", folder)
                         : ErrnoStatus(errno, folder);
}

Status MakeFolder(const InitPlan& plan) {
  std::string temporary = (fs::path(plan.folder).parent_path() / ".kgpu-fn.XXXXXX").string();
  if (mkdtemp(temporary.data()) == nullptr) {
    return ErrnoStatus(errno, temporary);
  }
  Status status = WriteFolder(temporary, plan.files);
  if (status.ok()) {
    status = Publish(temporary, plan.folder);
  }
  if (!status.ok()) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
  }
  return status;
}

}  // namespace

StatusOr<InitPlan> PlanNewFunction(const NewFunction& request) {
  RETURN_IF_ERROR(CheckNewFunction(request));
  const Runtime& runtime = *FindRuntime(request.runtime);
  InitPlan plan;
  plan.files = FilesOf(request, runtime);
  const fs::path handler = SourcesOf(request) / runtime.handler_file;
  if (request.config.empty()) {
    plan.folder = request.name;
    plan.config = (fs::path(plan.folder) / kConfigName).string();
    plan.files.insert(plan.files.begin(),
                      {.path = std::string(kConfigName),
                       .text = NewConfigText(FunctionOf(request, runtime, ""), request.gateway)});
  } else {
    plan.folder = (fs::path(request.config).parent_path() / request.name).string();
    plan.config = request.config;
    const Function function = FunctionOf(request, runtime, request.name + "/");
    ASSIGN_OR_RETURN(plan.config_text, WithFunction(request.config_text.value_or(""),
                                                    request.config, function, request.gateway));
  }
  plan.handler = (fs::path(plan.folder) / handler).string();
  return plan;
}

Status MakeNewFunction(const InitPlan& plan) {
  RETURN_IF_ERROR(MakeFolder(plan));
  if (!plan.config_text) {
    return OkStatus();
  }
  const Status status = sys::WriteFileAtomically(plan.config, *plan.config_text);
  if (!status.ok()) {
    std::error_code ignored;
    fs::remove_all(plan.folder, ignored);
  }
  return status;
}

}  // namespace kgpu::functions
