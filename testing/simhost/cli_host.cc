#include <unistd.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>

#include "src/platform/base/status_macros.h"
#include "src/platform/sys/root.h"
#include "testing/simhost/cli.h"
#include "testing/simhost/columns.h"
#include "testing/simhost/host_folder.h"
#include "testing/simhost/host_lock.h"
#include "testing/simhost/server.h"

namespace kgpu::simhost {
namespace {

struct CreateFlags {
  CreateOptions options;
  std::string distro = "debian";
  std::string arch = "x86_64";
  std::string with;
  bool no_serve = false;
};

// The library of the same build lies in ../lib from the program, or beside it.
std::string LibraryBeside(const std::string& program) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(program).parent_path();
  for (const std::filesystem::path& candidate :
       {folder / "../lib/libnvidia-ml.so.1", folder / "libnvidia-ml.so.1"}) {
    const std::filesystem::path real = std::filesystem::canonical(candidate, error);
    if (!error) {
      return real.string();
    }
  }
  return "";
}

std::string ProcDevices() {
  const StatusOr<sys::Root> root = sys::Root::Open("/proc");
  return root.ok() ? root->ReadFile("devices").value_or("") : "";
}

// A forced creation takes the place of a host that may still be served.
Status StopIfForced(const CreateFlags& flags, const std::string& folder) {
  if (!flags.options.is_forced || !LockHolder(folder)) {
    return OkStatus();
  }
  return StopServer(folder).status();
}

Status Create(const CreateFlags& flags, const CliContext& context) {
  CreateOptions options = flags.options;
  ASSIGN_OR_RETURN(options.folder, AbsoluteFolder(options.folder));
  ASSIGN_OR_RETURN(options.distro, ParseDistro(flags.distro));
  ASSIGN_OR_RETURN(options.arch, ParseArch(flags.arch));
  ASSIGN_OR_RETURN(options.companions, ParseCompanions(flags.with));
  options.proc_devices = ProcDevices();
  if (options.nvml_library.empty()) {
    options.nvml_library = LibraryBeside(context.program);
  } else {
    ASSIGN_OR_RETURN(options.nvml_library, AbsoluteFolder(options.nvml_library));
  }
  RETURN_IF_ERROR(StopIfForced(flags, options.folder));
  WriteReport report;
  ASSIGN_OR_RETURN(const HostFolder host, HostFolder::Create(options, report));
  if (report.nodes_faked > 0) {
    context.print(
        fmt::format("warning: {} device nodes are plain files because this user cannot create "
                    "nodes: programs and containers will not find GPUs; run as root for real nodes",
                    report.nodes_faked));
  }
  if (options.nvml_library.empty()) {
    context.print(
        "warning: libnvidia-ml.so.1 not found beside this program; using a stub without functions; "
        "set it with --library FILE");
  }
  std::string server = "not running; run kgpu sim start " + host.path();
  if (!flags.no_serve) {
    ASSIGN_OR_RETURN(const int pid,
                     StartServer({context.program, "serve", host.path()}, host.path()));
    server = fmt::format("served by process {}", pid);
  }
  context.print(fmt::format(
      "created {}: {} ({} GPUs, driver {}), {}", host.path(), host.settings().profile,
      host.profile().gpus.size(),
      host.settings().driver_version.empty() ? "none" : host.settings().driver_version, server));
  return OkStatus();
}

void AddCreate(CLI::App& app, CliContext& context) {
  auto flags = std::make_shared<CreateFlags>();
  CLI::App* verb = app.add_subcommand("create", "Create a simulated host in DIR and serve it");
  verb->add_option("DIR", flags->options.folder, "An empty or new folder")->required();
  verb->add_option("--profile", flags->options.profile, "Name (see: profiles) or YAML file")
      ->type_name("PROFILE")
      ->required();
  verb->add_option("--distro", flags->distro, "The distribution")
      ->type_name("debian|ubuntu|rhel|suse")
      ->capture_default_str();
  verb->add_option("--arch", flags->arch, "The machine")
      ->type_name("x86_64|aarch64")
      ->capture_default_str();
  verb->add_option("--driver", flags->options.driver_version,
                   "Driver version instead of the profile's, e.g. 550.54.15");
  verb->add_option("--seed", flags->options.seed, "Seed for UUIDs and serial numbers")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--library", flags->options.nvml_library,
                   "Simulated libnvidia-ml.so.1 (default: beside this program or in ../lib)");
  verb->add_option("--with", flags->with,
                   "Companion devices: gds,gdrcopy,mofed=CARDS,imex=CHANNELS");
  verb->add_flag("--with-32bit", flags->options.has_32bit, "Also create the 32-bit libraries");
  verb->add_flag("--no-serve", flags->no_serve, "Create only the files, start no server");
  verb->add_flag("--force", flags->options.is_forced, "Replace a simulated host in DIR");
  verb->callback([flags, &context] {
    context.action = [flags, &context] { return Create(*flags, context); };
  });
}

// A verb whose only argument is DIR; `run` gets the absolute path.
void AddFolderVerb(CLI::App& app, CliContext& context, const char* name, const char* description,
                   std::function<Status(const std::string&)> run) {
  auto folder = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand(name, description);
  verb->add_option("DIR", *folder, "Folder of the simulated host")->required();
  verb->callback([folder, run = std::move(run), &context] {
    context.action = [folder, run]() -> Status {
      ASSIGN_OR_RETURN(const std::string path, AbsoluteFolder(*folder));
      return run(path);
    };
  });
}

void AddServe(CLI::App& app, CliContext& context) {
  auto folder = std::make_shared<std::string>();
  auto ready_fd = std::make_shared<int>(-1);
  CLI::App* verb = app.add_subcommand("serve", "Run the state server of DIR in the foreground");
  verb->add_option("DIR", *folder, "Folder of the simulated host")->required();
  verb->add_option("--ready-fd", *ready_fd,
                   "Descriptor to write a byte to when clients can connect");
  verb->callback([folder, ready_fd, &context] {
    context.action = [folder, ready_fd]() -> Status {
      ASSIGN_OR_RETURN(const std::string path, AbsoluteFolder(*folder));
      return Serve(path, *ready_fd);
    };
  });
}

Status Start(const std::string& folder, const CliContext& context) {
  RETURN_IF_ERROR(HostFolder::Open(folder).status());
  if (const auto pid = LockHolder(folder); pid) {
    return AlreadyExists("{}: already served by process {}", folder, *pid);
  }
  ASSIGN_OR_RETURN(const int pid, StartServer({context.program, "serve", folder}, folder));
  context.print(fmt::format("{}: served by process {}", folder, pid));
  return OkStatus();
}

Status Delete(const std::string& folder, const CliContext& context) {
  if (LockHolder(folder)) {
    RETURN_IF_ERROR(StopServer(folder).status());
  }
  RETURN_IF_ERROR(HostFolder::Delete(folder));
  context.print(fmt::format("deleted {}", folder));
  return OkStatus();
}

Status ListProfiles(const CliContext& context) {
  std::vector<std::vector<std::string>> rows = {{"PROFILE", "GPUS", "DRIVER", "DESCRIPTION"}};
  for (const auto& [name, text] : BuiltinProfiles()) {
    ASSIGN_OR_RETURN(const Profile profile, ParseProfile(text, name, BuiltinModelText));
    rows.push_back({std::string(name), std::to_string(profile.gpus.size()),
                    profile.driver.version.empty() ? "none" : profile.driver.version,
                    profile.description});
  }
  std::string text = Columns(rows);
  text += "\nModels for `add --model`:";
  for (const auto& [name, unused] : BuiltinModels()) {
    text += fmt::format(" {}", name);
  }
  context.print(text);
  return OkStatus();
}

}  // namespace

void AddHostVerbs(CLI::App& app, CliContext& context) {
  AddCreate(app, context);
  AddServe(app, context);
  AddFolderVerb(app, context, "start", "Run the state server of DIR in the background",
                [&context](const std::string& folder) { return Start(folder, context); });
  AddFolderVerb(app, context, "stop", "Stop the state server of DIR; the files stay",
                [&context](const std::string& folder) -> Status {
                  RETURN_IF_ERROR(HostFolder::Open(folder).status());
                  ASSIGN_OR_RETURN(const int pid, StopServer(folder));
                  context.print(fmt::format("{}: stopped process {}", folder, pid));
                  return OkStatus();
                });
  AddFolderVerb(app, context, "delete", "Stop the server and delete DIR",
                [&context](const std::string& folder) { return Delete(folder, context); });
  AddFolderVerb(app, context, "env", "Print the flags that make kgpu use the host in DIR",
                [&context](const std::string& folder) -> Status {
                  RETURN_IF_ERROR(HostFolder::Open(folder).status());
                  context.print(fmt::format("--host-root {} --engine-root /", folder));
                  return OkStatus();
                });
  app.add_subcommand("profiles", "List the profiles and models")->callback([&context] {
    context.action = [&context] { return ListProfiles(context); };
  });
}

}  // namespace kgpu::simhost
