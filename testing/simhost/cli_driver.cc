#include <CLI/CLI.hpp>

#include <memory>

#include "src/platform/base/status_macros.h"
#include "testing/simhost/cli.h"
#include "testing/simhost/host_folder.h"

namespace kgpu::simhost {
namespace {

// What the verbs of this file take; each uses some of it.
struct DriverFlags {
  std::string folder;
  std::string gpu;
  std::string version;
  std::string cuda;
  std::string model;
  bool is_module_only = false;
  bool is_enable = false;
  bool is_disable = false;
  bool is_pending = false;
  std::vector<std::string> create;
  std::string destroy;
  std::string with;
};

using DriverFlagsPtr = std::shared_ptr<DriverFlags>;

CLI::App* AddDriverVerb(CLI::App& app, CliContext& context, const char* name,
                        const char* description, const DriverFlagsPtr& flags,
                        Status (*run)(const DriverFlags&, const CliContext&)) {
  CLI::App* verb = app.add_subcommand(name, description);
  verb->add_option("DIR", flags->folder, "folder of the simulated host")->required();
  verb->callback([flags, run, &context] {
    context.action = [flags, run, &context] { return run(*flags, context); };
  });
  return verb;
}

void Tell(const DriverFlags& flags, const CliContext& context, std::string_view told) {
  context.print(fmt::format("{}: {}", flags.folder, told));
}

Status Unload(const DriverFlags& flags, const CliContext& context) {
  RETURN_IF_ERROR(RunCommands(flags.folder, {"unload"}).status());
  Tell(flags, context, "the kernel module is unloaded");
  return OkStatus();
}

// The server reads host.json anew with each change, so nouveau's flag goes there first.
Status SetNouveau(const std::string& folder, bool is_nouveau) {
  ASSIGN_OR_RETURN(HostFolder host, HostFolder::Open(folder));
  return host.settings().is_nouveau == is_nouveau ? OkStatus() : host.SetNouveau(is_nouveau);
}

Status Load(const DriverFlags& flags, const CliContext& context) {
  if (!flags.version.empty() && !IsDriverVersion(flags.version)) {
    return InvalidArgument("--driver: \"{}\" must be a driver version such as 550.54.15",
                           flags.version);
  }
  if (!flags.cuda.empty() && flags.version.empty()) {
    return InvalidArgument("--cuda: name the driver that brings it with --driver VERSION");
  }
  if (flags.is_module_only && flags.version.empty()) {
    return InvalidArgument("--module-only: name the module's version with --driver VERSION");
  }
  RETURN_IF_ERROR(SetNouveau(flags.folder, false));
  std::vector<std::string> commands;
  if (!flags.version.empty() && !flags.is_module_only) {
    commands.push_back("library " + flags.version);
  }
  commands.push_back(fmt::format("load {} {}", flags.version, flags.cuda));
  RETURN_IF_ERROR(RunCommands(flags.folder, commands).status());
  Tell(flags, context,
       fmt::format("the kernel module is loaded{}{}", flags.version.empty() ? "" : ", version ",
                   flags.version));
  return OkStatus();
}

Status Nouveau(const DriverFlags& flags, const CliContext& context) {
  // A server that is not there must be noticed before anything changes.
  RETURN_IF_ERROR(RunCommands(flags.folder, {"clients"}).status());
  RETURN_IF_ERROR(SetNouveau(flags.folder, true));
  // `heal` makes the server show the host anew where no module was loaded.
  if (const auto unloaded = RunCommands(flags.folder, {"unload"}); !unloaded.ok()) {
    RETURN_IF_ERROR(RunCommands(flags.folder, {"heal all"}).status());
  }
  Tell(flags, context, "nouveau holds the GPUs, no NVIDIA driver is installed");
  return OkStatus();
}

Status With(const DriverFlags& flags, const CliContext& context) {
  ASSIGN_OR_RETURN(const Companions companions, ParseCompanions(flags.with));
  // A server that is not there must be noticed before anything changes.
  RETURN_IF_ERROR(RunCommands(flags.folder, {"clients"}).status());
  ASSIGN_OR_RETURN(HostFolder host, HostFolder::Open(flags.folder));
  RETURN_IF_ERROR(host.SetCompanions(companions));
  RETURN_IF_ERROR(RunCommands(flags.folder, {"show"}).status());
  Tell(flags, context, fmt::format("besides GPUs: {}", ToString(companions)));
  return OkStatus();
}

Status Add(const DriverFlags& flags, const CliContext& context) {
  const std::string command = flags.model.empty() ? "add" : "add-model " + flags.model;
  ASSIGN_OR_RETURN(const std::string made, RunCommands(flags.folder, {command}));
  Tell(flags, context, "added " + made);
  return OkStatus();
}

Status Remove(const DriverFlags& flags, const CliContext& context) {
  RETURN_IF_ERROR(RunCommands(flags.folder, {"remove " + flags.gpu}).status());
  Tell(flags, context, fmt::format("GPU {}: removed", flags.gpu));
  return OkStatus();
}

Status Mig(const DriverFlags& flags, const CliContext& context) {
  std::vector<std::string> commands;
  std::string told;
  if (flags.is_enable || flags.is_disable) {
    const std::string_view mode = flags.is_enable ? "on" : "off";
    commands.push_back(fmt::format("mig-mode {} {}", flags.gpu, mode));
    if (!flags.is_pending) {
      commands.push_back(fmt::format("heal {}", flags.gpu));
    }
    told = fmt::format("MIG {}{}", mode, flags.is_pending ? " after the next reset" : "");
  }
  if (!flags.destroy.empty()) {
    commands.push_back(
        fmt::format("mig-destroy {} {}", flags.gpu, flags.destroy == "all" ? "" : flags.destroy));
    told += fmt::format("{}instance {} destroyed", told.empty() ? "" : ", ", flags.destroy);
  }
  for (const std::string& profile : flags.create) {
    commands.push_back(fmt::format("mig-create {} {}", flags.gpu, profile));
    told += fmt::format("{}{} created", told.empty() ? "" : ", ", profile);
  }
  if (commands.empty()) {
    return InvalidArgument(
        "mig: say what: --enable, --disable, --create PROFILE, --destroy all|GI");
  }
  RETURN_IF_ERROR(RunCommands(flags.folder, commands).status());
  Tell(flags, context, fmt::format("GPU {}: {}", flags.gpu, told));
  return OkStatus();
}

void AddMig(CLI::App& app, CliContext& context) {
  auto flags = std::make_shared<DriverFlags>();
  CLI::App* verb =
      AddDriverVerb(app, context, "mig", "change the MIG mode or instances of GPU", flags, Mig);
  verb->add_option("GPU", flags->gpu, "index, UUID or PCI address")->required();
  CLI::Option* enable = verb->add_flag("--enable", flags->is_enable, "MIG on; resets the GPU");
  verb->add_flag("--disable", flags->is_disable, "MIG off; resets the GPU")->excludes(enable);
  verb->add_flag("--pending", flags->is_pending, "leave the reset that Ampere needs to `heal`");
  verb->add_option("--create", flags->create, "profiles: 1g.10gb,3g.40gb")->delimiter(',');
  verb->add_option("--destroy", flags->destroy, "all, or the id of a GPU instance");
}

}  // namespace

void AddDriverVerbs(CLI::App& app, CliContext& context) {
  auto unload = std::make_shared<DriverFlags>();
  AddDriverVerb(app, context, "unload", "unload the kernel module", unload, Unload);
  auto load = std::make_shared<DriverFlags>();
  CLI::App* load_verb = AddDriverVerb(app, context, "load", "load the kernel module", load, Load);
  load_verb->add_option("--driver", load->version, "another version, of module and libraries");
  load_verb->add_option("--cuda", load->cuda, "the CUDA version it brings: 12.4");
  load_verb->add_flag("--module-only", load->is_module_only,
                      "only the module is of that version: it then differs from the libraries");
  auto nouveau = std::make_shared<DriverFlags>();
  AddDriverVerb(app, context, "nouveau",
                "nouveau holds the GPUs, no NVIDIA driver is installed (load ends "
                "it)",
                nouveau, Nouveau);
  auto add = std::make_shared<DriverFlags>();
  CLI::App* add_verb = AddDriverVerb(app, context, "add", "a GPU joins the running host", add, Add);
  add_verb->add_option("--model", add->model, "see: profiles (default: as the first GPU)");
  auto removed = std::make_shared<DriverFlags>();
  CLI::App* remove_verb =
      AddDriverVerb(app, context, "remove", "GPU leaves the running host", removed, Remove);
  remove_verb->add_option("GPU", removed->gpu, "index, UUID or PCI address")->required();
  auto with = std::make_shared<DriverFlags>();
  AddDriverVerb(app, context, "with", "what the running host has besides GPUs, from now on", with,
                With)
      ->add_option("WORDS", with->with, "gds,gdrcopy,mofed=CARDS,imex=CHANNELS, or none")
      ->required();
  AddMig(app, context);
}

}  // namespace kgpu::simhost
