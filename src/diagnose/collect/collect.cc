#include "src/diagnose/collect/collect.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/diagnose/collect/bundle_builder.h"
#include "src/diagnose/collect/redact.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/compress/gzip.h"

namespace kgpu::collect {
namespace {

constexpr std::chrono::seconds kDeadline{30};
constexpr size_t kMostFilesOfFolder = 200;
constexpr std::string_view kProgram = "kgpu";
constexpr size_t kMostPath = 80;

// In the archive: everything is in one folder, and each kind in a folder of its own.
constexpr std::string_view kFolder = "kgpu-collect";
constexpr std::string_view kCommands = "commands/";
constexpr std::string_view kFiles = "files/";

class Collector {
 public:
  explicit Collector(const CollectDeps& deps) : deps_(deps), builder_(deps.begin) {}

  void Run(const Command& command) {
    builder_.Begin(command.name);
    std::vector<std::string> argv = command.argv;
    sys::RunRequest request = sys::RequestOf(deps_.host, argv, kDeadline);
    if (argv.front() == kProgram) {
      argv.front() = deps_.program;
      argv.insert(argv.end(), deps_.flags.begin(), deps_.flags.end());
      request = {.argv = std::move(argv), .deadline = kDeadline};
      request.environment.insert(request.environment.end(), deps_.environment.begin(),
                                 deps_.environment.end());
    }
    request.output_limit = 4 * kMostOfOne;
    const StatusOr<sys::RunResult> result = deps_.runner.Run(request);
    if (!result.ok()) {
      builder_.Problem(command.name, Message(result.status()));
      return;
    }
    if (!result->out.empty()) {
      builder_.Add(std::string(kCommands) + command.name, Tail(result->out));
    }
    if (!result->IsSuccess() || !result->err.empty()) {
      builder_.Add(fmt::format("{}{}.stderr", kCommands, command.name),
                   fmt::format("{}\n{}", sys::Describe(result->exit), Tail(result->err)));
    }
  }

  void Read(const std::string& path) {
    if (IsSecretFile(path)) {
      builder_.LeaveOut(NameOf(path));
      return;
    }
    StatusOr<std::string> text = deps_.host.ReadFile(path, kMostOfOne);
    if (text.ok()) {
      builder_.Add(NameOf(path), *std::move(text));
    } else if (text.status().code() != StatusCode::kNotFound) {
      builder_.Problem(path, Message(text.status()));
    }
  }

  void ReadFolder(const std::string& folder) {
    const auto names = deps_.host.ListDir(folder);
    if (!names.ok()) {
      if (names.status().code() != StatusCode::kNotFound) {
        builder_.Problem(folder, Message(names.status()));
      }
      return;
    }
    for (size_t i = 0; i < std::min(names->size(), kMostFilesOfFolder); ++i) {
      const std::string path = fmt::format("{}/{}", folder, (*names)[i]);
      const auto status = deps_.host.Stat(path);
      if (status.ok() && S_ISREG(status->st_mode)) {
        Read(path);
      }
    }
    if (names->size() > kMostFilesOfFolder) {
      builder_.Problem(folder, fmt::format("has {} files: the first {} were taken", names->size(),
                                           kMostFilesOfFolder));
    }
  }

  Bundle Take() { return builder_.Take(); }

 private:
  // "files/etc/kgpu/config.yaml"; a long one ends as it does.
  static std::string NameOf(const std::string& path) {
    return path.size() <= kMostPath
               ? std::string(kFiles) + path
               : fmt::format("{}…{}", kFiles, path.substr(path.size() - kMostPath + 10));
  }

  static std::string Tail(const std::string& text) {
    return text.size() <= kMostOfOne ? text : text.substr(text.size() - kMostOfOne);
  }

  const CollectDeps& deps_;
  BundleBuilder builder_;
};

std::string RemovedText(const Bundle& bundle) {
  std::string text = bundle.removed.empty() ? "Nothing was removed.\n" : "Replaced by <removed>:\n";
  for (const auto& [path, kinds] : bundle.removed) {
    for (const auto& [kind, count] : kinds) {
      text += fmt::format("{}: {} x {}\n", path, count, kind);
    }
  }
  return text;
}

constexpr std::string_view kReadme =
    "This is from `kgpu collect`, for support.\n"
    "commands/      what kgpu and other programs print; .stderr: how they ended, if not well\n"
    "files/         files of the host, by their path\n"
    "logs/, live/   of a cluster: logs of kgpu's pods, what the agents show and measure\n"
    "removed.txt    where secrets were removed; look through the rest before you send it\n"
    "problems.txt   what could not be collected, and why\n";

}  // namespace

Sources UsualSources() {
  const auto json = [](std::string name, std::vector<std::string> words) {
    words.insert(words.begin(), std::string(kProgram));
    words.insert(words.end(), {"--output", "json"});
    return Command{.name = std::move(name), .argv = std::move(words)};
  };
  return {.commands = {{.name = "version.txt", .argv = {"kgpu", "version"}},
                       json("doctor.json", {"doctor"}),
                       json("status.json", {"status"}),
                       json("devices.json", {"devices"}),
                       json("health.json", {"health"}),
                       json("health-history.json", {"health", "history", "--since", "30d"}),
                       json("config.json", {"config", "show", "--live"}),
                       json("node.json", {"node", "status"}),
                       json("runtime-check.json", {"runtime", "check"}),
                       json("cdi-check.json", {"cdi", "check"}),
                       json("mig.json", {"mig", "list"}),
                       json("driver.json", {"driver", "verify"}),
                       json("usage.json", {"usage"}),
                       {.name = "nvidia-smi.txt", .argv = {"/usr/bin/nvidia-smi", "-q"}},
                       {.name = "agent.log",
                        .argv = {"/usr/bin/journalctl", "--unit=kgpu-agent", "--no-pager",
                                 "--lines=5000"}},
                       {.name = "kernel.log",
                        .argv = {"/usr/bin/journalctl", "--dmesg", "--no-pager", "--lines=5000"}}},
          .files = {"etc/os-release", "proc/version", "proc/cmdline", "proc/modules",
                    "proc/driver/nvidia/version", "proc/driver/nvidia/params",
                    "etc/containerd/config.toml", "etc/docker/daemon.json", "etc/crio/crio.conf",
                    "etc/containers/containers.conf", "etc/nvidia-container-runtime/config.toml",
                    "var/lib/kubelet/config.yaml"},
          .folders = {"etc/kgpu", "etc/cdi", "var/run/cdi", "run/kgpu", "var/lib/kgpu",
                      "etc/containerd/conf.d", "etc/crio/crio.conf.d", "etc/modprobe.d"}};
}

Bundle Collect(const Sources& sources, const CollectDeps& deps) {
  Collector collector(deps);
  for (const Command& command : sources.commands) {
    collector.Run(command);
  }
  for (const std::string& file : sources.files) {
    collector.Read(file);
  }
  for (const std::string& folder : sources.folders) {
    collector.ReadFolder(folder);
  }
  return collector.Take();
}

StatusOr<std::string> PackBundle(const Bundle& bundle, const std::string& host, WallTime now) {
  std::vector<compress::TarFile> files = {
      {.path = "README.txt",
       .text = fmt::format("{}Collected on {}, {}.\n", kReadme, host, FormatTime(now))},
      {.path = "removed.txt", .text = RemovedText(bundle)},
      {.path = "problems.txt",
       .text = bundle.problems.empty() ? "None.\n" : Join(bundle.problems, "\n") + "\n"}};
  files.insert(files.end(), bundle.files.begin(), bundle.files.end());
  for (compress::TarFile& file : files) {
    file.path = fmt::format("{}/{}", kFolder, file.path);
  }
  StatusOr<std::string> archive = compress::Tar(files, now);
  if (!archive.ok()) {
    return archive.status();
  }
  compress::GzipWriter writer;
  writer.Add(*archive);
  const compress::GzipFront front = writer.Finish();
  return front.bytes + compress::CompressRest(front, "");
}

}  // namespace kgpu::collect
