#include <CLI/CLI.hpp>

#include <memory>

#include "src/platform/base/status_macros.h"
#include "testing/simhost/cli.h"
#include "testing/simhost/host_folder.h"

namespace kgpu::simhost {
namespace {

// The flags of the commands in this file; each uses some of them.
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
  verb->add_option("DIR", flags->folder, "Folder of the simulated host")->required();
  verb->callback([flags, run, &context] {
    context.action = [flags, run, &context] { return run(*flags, context); };
  });
  return verb;
}

void Notify(const DriverFlags& flags, const CliContext& context, std::string_view reported) {
  context.print(fmt::format("{}: {}", flags.folder, reported));
}

Status Unload(const DriverFlags& flags, const CliContext& context) {
  RETURN_IF_ERROR(RunCommands(flags.folder, {"unload"}).status());
  Notify(flags, context, "kernel module unloaded");
  return OkStatus();
}

// The server reads host.json again with each change, so nouveau's flag goes there first.
Status SetNouveau(const std::string& folder, bool is_nouveau) {
  ASSIGN_OR_RETURN(HostFolder host, HostFolder::Open(folder));
  return host.settings().is_nouveau == is_nouveau ? OkStatus() : host.SetNouveau(is_nouveau);
}

Status Load(const DriverFlags& flags, const CliContext& context) {
  if (!flags.version.empty() && !IsDriverVersion(flags.version)) {
    return InvalidArgument("--driver: \"{}\" must be a driver version, e.g. 550.54.15",
                           flags.version);
  }
  if (!flags.cuda.empty() && flags.version.empty()) {
    return InvalidArgument("--cuda: also set the driver version with --driver VERSION");
  }
  if (flags.is_module_only && flags.version.empty()) {
    return InvalidArgument("--module-only: set the module's version with --driver VERSION");
  }
  RETURN_IF_ERROR(SetNouveau(flags.folder, false));
  std::vector<std::string> commands;
  if (!flags.version.empty() && !flags.is_module_only) {
    commands.push_back("library " + flags.version);
  }
  commands.push_back(fmt::format("load {} {}", flags.version, flags.cuda));
  RETURN_IF_ERROR(RunCommands(flags.folder, commands).status());
  Notify(flags, context,
         fmt::format("kernel module loaded{}{}", flags.version.empty() ? "" : ", version ",
                     flags.version));
  return OkStatus();
}

Status Nouveau(const DriverFlags& flags, const CliContext& context) {
  // A server that is not there must be noticed before anything changes.
  RETURN_IF_ERROR(RunCommands(flags.folder, {"clients"}).status());
  RETURN_IF_ERROR(SetNouveau(flags.folder, true));
  // `heal` makes the server show the host again where no module was loaded.
  if (const auto unloaded = RunCommands(flags.folder, {"unload"}); !unloaded.ok()) {
    RETURN_IF_ERROR(RunCommands(flags.folder, {"heal all"}).status());
  }
  Notify(flags, context, "nouveau uses the GPUs, no NVIDIA driver is installed");
  return OkStatus();
}

Status With(const DriverFlags& flags, const CliContext& context) {
  ASSIGN_OR_RETURN(const Companions companions, ParseCompanions(flags.with));
  // A server that is not there must be noticed before anything changes.
  RETURN_IF_ERROR(RunCommands(flags.folder, {"clients"}).status());
  ASSIGN_OR_RETURN(HostFolder host, HostFolder::Open(flags.folder));
  RETURN_IF_ERROR(host.SetCompanions(companions));
  RETURN_IF_ERROR(RunCommands(flags.folder, {"show"}).status());
  Notify(flags, context, fmt::format("companion devices: {}", ToString(companions)));
  return OkStatus();
}

Status Add(const DriverFlags& flags, const CliContext& context) {
  const std::string command = flags.model.empty() ? "add" : "add-model " + flags.model;
  ASSIGN_OR_RETURN(const std::string made, RunCommands(flags.folder, {command}));
  Notify(flags, context, "added " + made);
  return OkStatus();
}

Status Remove(const DriverFlags& flags, const CliContext& context) {
  RETURN_IF_ERROR(RunCommands(flags.folder, {"remove " + flags.gpu}).status());
  Notify(flags, context, fmt::format("GPU {}: removed", flags.gpu));
  return OkStatus();
}

Status Mig(const DriverFlags& flags, const CliContext& context) {
  std::vector<std::string> commands;
  std::string reported;
  if (flags.is_enable || flags.is_disable) {
    const std::string_view mode = flags.is_enable ? "on" : "off";
    commands.push_back(fmt::format("mig-mode {} {}", flags.gpu, mode));
    if (!flags.is_pending) {
      commands.push_back(fmt::format("heal {}", flags.gpu));
    }
    reported = fmt::format("MIG {}{}", mode, flags.is_pending ? " after the next reset" : "");
  }
  if (!flags.destroy.empty()) {
    commands.push_back(
        fmt::format("mig-destroy {} {}", flags.gpu, flags.destroy == "all" ? "" : flags.destroy));
    reported += fmt::format("{}instance {} destroyed", reported.empty() ? "" : ", ", flags.destroy);
  }
  for (const std::string& profile : flags.create) {
    commands.push_back(fmt::format("mig-create {} {}", flags.gpu, profile));
    reported += fmt::format("{}{} created", reported.empty() ? "" : ", ", profile);
  }
  if (flags.is_pending && !flags.is_enable && !flags.is_disable) {
    return InvalidArgument("--pending works only with --enable or --disable: add one of them");
  }
  if (commands.empty()) {
    return InvalidArgument("mig: set --enable, --disable, --create PROFILE or --destroy all|GI");
  }
  RETURN_IF_ERROR(RunCommands(flags.folder, commands).status());
  Notify(flags, context, fmt::format("GPU {}: {}", flags.gpu, reported));
  return OkStatus();
}

void AddMig(CLI::App& app, CliContext& context) {
  auto flags = std::make_shared<DriverFlags>();
  CLI::App* verb =
      AddDriverVerb(app, context, "mig", "Change the MIG mode or instances of a GPU", flags, Mig);
  verb->add_option("GPU", flags->gpu, "Index, UUID or PCI address")->required();
  CLI::Option* enable = verb->add_flag("--enable", flags->is_enable, "Enable MIG; resets the GPU");
  verb->add_flag("--disable", flags->is_disable, "Disable MIG; resets the GPU")->excludes(enable);
  verb->add_flag("--pending", flags->is_pending, "Leave the reset, which Ampere needs, to `heal`");
  verb->add_option("--create", flags->create, "Profiles: 1g.10gb,3g.40gb")
      ->type_name("MIG_PROFILE")
      ->delimiter(',');
  verb->add_option("--destroy", flags->destroy, "ID of a GPU instance, or all");
}

}  // namespace

void AddDriverVerbs(CLI::App& app, CliContext& context) {
  auto unload = std::make_shared<DriverFlags>();
  AddDriverVerb(app, context, "unload", "Unload the kernel module", unload, Unload);
  auto load = std::make_shared<DriverFlags>();
  CLI::App* load_verb = AddDriverVerb(app, context, "load", "Load the kernel module", load, Load);
  load_verb->add_option("--driver", load->version,
                        "Install another version of module and libraries");
  load_verb->add_option("--cuda", load->cuda, "CUDA version of that driver: 12.4");
  load_verb->add_flag("--module-only", load->is_module_only,
                      "Change only the module's version, so that it differs from the libraries");
  auto nouveau = std::make_shared<DriverFlags>();
  AddDriverVerb(app, context, "nouveau", "Replace NVIDIA's driver with nouveau (undo: load)",
                nouveau, Nouveau);
  auto add = std::make_shared<DriverFlags>();
  CLI::App* add_verb =
      AddDriverVerb(app, context, "add", "Add a GPU to the running host", add, Add);
  add_verb
      ->add_option("--model", add->model, "Model, see: profiles (default: same as the first GPU)")
      ->type_name("MODEL");
  auto removed = std::make_shared<DriverFlags>();
  CLI::App* remove_verb =
      AddDriverVerb(app, context, "remove", "Remove a GPU from the running host", removed, Remove);
  remove_verb->add_option("GPU", removed->gpu, "Index, UUID or PCI address")->required();
  auto with = std::make_shared<DriverFlags>();
  AddDriverVerb(app, context, "with", "Set the companion devices of the running host", with, With)
      ->add_option("WORDS", with->with, "gds,gdrcopy,mofed=CARDS,imex=CHANNELS, or none")
      ->required();
  AddMig(app, context);
}

}  // namespace kgpu::simhost
