#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include "src/platform/base/status_macros.h"
#include "testing/simhost/cli.h"
#include "testing/simhost/quantity.h"

namespace kgpu::simhost {
namespace {

// The flags of the commands in this file; each uses some of them.
struct FaultFlags {
  std::string field;
  uint64_t value = 0;
  std::string folder;
  std::string gpu = "all";
  std::string call;
  uint32_t xid = 0;
  uint32_t times = 1;
  std::string only;
  std::string gpu_instance;
  std::string compute_instance = "0";
  uint64_t single = 0;
  uint64_t dual = 0;
  uint32_t milliseconds = 0;
  uint32_t gpu_percent = 0;
  uint32_t memory_percent = 0;
  uint32_t encoder_percent = 0;
  uint32_t decoder_percent = 0;
  uint32_t celsius = 0;
  uint32_t link = 0;
  std::optional<uint64_t> errors;
  bool is_down = false;
  bool is_up = false;
  std::vector<std::string> reasons;
  uint32_t pid = 0;
  std::string memory;
  std::string kind = "C";
  std::string name;
  bool is_end = false;
};

using FaultFlagsPtr = std::shared_ptr<FaultFlags>;
// The commands for the server and the line that tells what happened.
struct Action {
  std::vector<std::string> commands;
  std::string reported;
};
using MakeAction = std::function<StatusOr<Action>(const FaultFlags&)>;

// Declares a verb on DIR and runs what `make` says.
CLI::App* AddFaultVerb(CLI::App& app, CliContext& context, const char* name,
                       const char* description, const FaultFlagsPtr& flags, MakeAction make) {
  CLI::App* verb = app.add_subcommand(name, description);
  verb->add_option("DIR", flags->folder, "Folder of the simulated host")->required();
  verb->callback([flags, make = std::move(make), &context] {
    context.action = [flags, make, &context]() -> Status {
      ASSIGN_OR_RETURN(const Action action, make(*flags));
      RETURN_IF_ERROR(RunCommands(flags->folder, action.commands).status());
      context.print(fmt::format("{}: {}", flags->folder, action.reported));
      return OkStatus();
    };
  });
  return verb;
}

CLI::Option* AddGpu(CLI::App* verb, const FaultFlagsPtr& flags) {
  return verb->add_option("GPU", flags->gpu, "Index, UUID or PCI address");
}

// One command makes at most as many events as the driver keeps; a client may still miss some when
// it reads slower than they come.
constexpr uint32_t kXidsPerCommand = 200;

Action XidAction(const FaultFlags& f) {
  const std::string_view verb = f.only == "driver"       ? "xid-driver"
                                : f.only == "kernel-log" ? "xid-kernel-log"
                                                         : "xid";
  Action action;
  for (uint32_t left = f.times; left > 0;) {
    const uint32_t now = std::min(left, kXidsPerCommand);
    action.commands.push_back(fmt::format("{} {} {}{} times {}", verb, f.gpu, f.xid,
                                          f.gpu_instance.empty() ? "" : " " + f.gpu_instance, now));
    left -= now;
  }
  action.reported = f.times == 1 ? fmt::format("GPU {}: XID {}", f.gpu, f.xid)
                                 : fmt::format("GPU {}: XID {}, {} times", f.gpu, f.xid, f.times);
  return action;
}

void AddXid(CLI::App& app, CliContext& context) {
  auto flags = std::make_shared<FaultFlags>();
  CLI::App* verb =
      AddFaultVerb(app, context, "xid", "Report XID CODE on a GPU (`lose` simulates what 79 means)",
                   flags, [](const FaultFlags& f) -> StatusOr<Action> { return XidAction(f); });
  AddGpu(verb, flags)->required();
  verb->add_option("CODE", flags->xid, "1 to 999")->required()->check(CLI::Range(1, 999));
  verb->add_option("--times", flags->times, "Number of reports, as fast as possible")
      ->check(CLI::Range(1, 1'000'000));
  verb->add_option("--only", flags->only, "Report it only by the driver, or only in the kernel log")
      ->check(CLI::IsMember({"driver", "kernel-log"}));
  verb->add_option("--gi", flags->gpu_instance, "Of this GPU instance");
}

void AddEcc(CLI::App& app, CliContext& context) {
  auto flags = std::make_shared<FaultFlags>();
  CLI::App* verb = AddFaultVerb(
      app, context, "ecc", "Add ECC errors in device memory", flags,
      [](const FaultFlags& f) -> StatusOr<Action> {
        Action action;
        if (f.single > 0) {
          action.commands.push_back(fmt::format("ecc {} corrected {} dram", f.gpu, f.single));
        }
        if (f.dual > 0) {
          action.commands.push_back(fmt::format("ecc {} uncorrected {} dram", f.gpu, f.dual));
        }
        if (action.commands.empty()) {
          return InvalidArgument("ecc: set --single N or --double N");
        }
        action.reported = fmt::format("GPU {}: {} corrected and {} uncorrected ECC errors added",
                                      f.gpu, f.single, f.dual);
        return action;
      });
  AddGpu(verb, flags)->required();
  verb->add_option("--single", flags->single, "Corrected (single bit) errors to add")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--double", flags->dual, "Uncorrected (double bit) errors to add")
      ->check(CLI::NonNegativeNumber);
}

void AddLoseAndHeal(CLI::App& app, CliContext& context) {
  auto lost = std::make_shared<FaultFlags>();
  CLI::App* lose = AddFaultVerb(app, context, "lose", "Make a GPU fall off the bus (XID 79)", lost,
                                [](const FaultFlags& f) -> StatusOr<Action> {
                                  return Action{{fmt::format("lose {}", f.gpu)},
                                                fmt::format("GPU {}: fell off the bus", f.gpu)};
                                });
  AddGpu(lose, lost)->required();
  auto healed = std::make_shared<FaultFlags>();
  CLI::App* heal = AddFaultVerb(
      app, context, "heal", "Reset a GPU (default: all): clear faults, apply pending modes", healed,
      [](const FaultFlags& f) -> StatusOr<Action> {
        return Action{{fmt::format("heal {}", f.gpu)}, fmt::format("GPU {}: healed", f.gpu)};
      });
  AddGpu(heal, healed);
}

void AddHangAndSlow(CLI::App& app, CliContext& context) {
  auto hung = std::make_shared<FaultFlags>();
  CLI::App* hang = AddFaultVerb(
      app, context, "hang", "Make driver calls (on a GPU, default: all) hang until heal", hung,
      [](const FaultFlags& f) -> StatusOr<Action> {
        return Action{
            {fmt::format("hang {} {}", f.gpu, f.call)},
            fmt::format("GPU {}: {} hangs", f.gpu, f.call.empty() ? "every call" : f.call)};
      });
  AddGpu(hang, hung);
  hang->add_option("--call", hung->call,
                   "Only this function: nvmlDeviceGetTemperature, cuLaunchKernel");
  auto slowed = std::make_shared<FaultFlags>();
  CLI::App* slow = AddFaultVerb(
      app, context, "slow", "Make driver calls MS milliseconds slower until heal", slowed,
      [](const FaultFlags& f) -> StatusOr<Action> {
        return Action{{fmt::format("slow {} {} {}", f.gpu, f.milliseconds, f.call)},
                      fmt::format("GPU {}: {} takes {} ms longer", f.gpu,
                                  f.call.empty() ? "every call" : f.call, f.milliseconds)};
      });
  slow->add_option("MS", slowed->milliseconds, "Milliseconds")
      ->required()
      ->check(CLI::Range(0, 3'600'000));
  slow->add_option("--gpu", slowed->gpu, "Only calls on this GPU");
  slow->add_option("--call", slowed->call, "Only this NVML function");
}

void AddRefuse(CLI::App& app, CliContext& context) {
  auto refused = std::make_shared<FaultFlags>();
  CLI::App* verb =
      AddFaultVerb(app, context, "refuse", "Make driver calls return CODE until heal", refused,
                   [](const FaultFlags& f) -> StatusOr<Action> {
                     return Action{{fmt::format("refuse {} {} {}", f.gpu, f.value, f.call)},
                                   fmt::format("GPU {}: {} returns {}", f.gpu,
                                               f.call.empty() ? "every call" : f.call, f.value)};
                   });
  verb->add_option("CODE", refused->value, "NvmlReturn_t: 3 not supported, 15 GPU lost, …")
      ->required()
      ->check(CLI::Range(1, 999));
  verb->add_option("--gpu", refused->gpu, "Only calls on this GPU");
  verb->add_option("--call", refused->call, "Only this NVML function");
}

StatusOr<Action> ProcessAction(const FaultFlags& f) {
  if (f.is_end) {
    return Action{{fmt::format("process-end {} {}", f.gpu, f.pid)},
                  fmt::format("GPU {}: process {} ended", f.gpu, f.pid)};
  }
  ASSIGN_OR_RETURN(const uint64_t mebi, ParseMebi(f.memory, "--memory"));
  const std::string_view kind = f.kind == "G" ? "graphics" : f.kind == "M" ? "mps" : "compute";
  const std::string instance =
      f.gpu_instance.empty() ? "" : fmt::format(" {} {}", f.gpu_instance, f.compute_instance);
  return Action{{fmt::format("process {} {} {} {} {} {}{}", f.gpu, f.pid, mebi, kind,
                             f.name.empty() ? "simulated" : f.name, f.gpu_percent, instance),
                 fmt::format("process-util {} {} {} {} {} {}", f.gpu, f.pid, f.gpu_percent,
                             f.memory_percent, f.encoder_percent, f.decoder_percent)},
                fmt::format("GPU {}: process {} uses {} MiB", f.gpu, f.pid, mebi)};
}

void AddProcess(CLI::App& app, CliContext& context) {
  auto flags = std::make_shared<FaultFlags>();
  CLI::App* verb = AddFaultVerb(app, context, "process", "Start or end a process on a GPU", flags,
                                &ProcessAction);
  AddGpu(verb, flags)->required();
  verb->add_option("--pid", flags->pid, "Process id")->required()->check(CLI::PositiveNumber);
  verb->add_option("--memory", flags->memory,
                   "Device memory: 512, 512Mi, 20Gi (MiB without a unit)");
  verb->add_option("--type", flags->kind, "C compute, G graphics, M MPS client")
      ->check(CLI::IsMember({"C", "G", "M"}));
  verb->add_option("--name", flags->name, "Program name without spaces");
  verb->add_option("--sm", flags->gpu_percent, "GPU utilization in percent")
      ->check(CLI::Range(0, 100));
  verb->add_option("--mem", flags->memory_percent, "Memory bandwidth utilization in percent")
      ->check(CLI::Range(0, 100));
  verb->add_option("--enc", flags->encoder_percent, "Encoder utilization in percent")
      ->check(CLI::Range(0, 100));
  verb->add_option("--dec", flags->decoder_percent, "Decoder utilization in percent")
      ->check(CLI::Range(0, 100));
  CLI::Option* gpu_instance =
      verb->add_option("--gi", flags->gpu_instance, "ID of its GPU instance");
  verb->add_option("--ci", flags->compute_instance, "ID of its compute instance")
      ->needs(gpu_instance);
  verb->add_flag("--end", flags->is_end, "End the process");
}

void AddSensors(CLI::App& app, CliContext& context) {
  auto used = std::make_shared<FaultFlags>();
  CLI::App* util = AddFaultVerb(
      app, context, "util", "Set the utilization of a GPU in percent", used,
      [](const FaultFlags& f) -> StatusOr<Action> {
        return Action{{fmt::format("util {} {} {}", f.gpu, f.gpu_percent, f.memory_percent)},
                      fmt::format("GPU {}: utilization {} %, memory {} %", f.gpu, f.gpu_percent,
                                  f.memory_percent)};
      });
  AddGpu(util, used)->required();
  util->add_option("--gpu", used->gpu_percent, "Percent")->required()->check(CLI::Range(0, 100));
  util->add_option("--memory", used->memory_percent, "Percent")->check(CLI::Range(0, 100));
  auto heated = std::make_shared<FaultFlags>();
  CLI::App* temp =
      AddFaultVerb(app, context, "temp", "Set the temperature of a GPU in degrees Celsius", heated,
                   [](const FaultFlags& f) -> StatusOr<Action> {
                     return Action{{fmt::format("temp {} {}", f.gpu, f.celsius)},
                                   fmt::format("GPU {}: {} degrees", f.gpu, f.celsius)};
                   });
  AddGpu(temp, heated)->required();
  temp->add_option("C", heated->celsius, "Degrees")->required()->check(CLI::Range(0, 150));
  auto throttled = std::make_shared<FaultFlags>();
  CLI::App* throttle = AddFaultVerb(
      app, context, "throttle", "Throttle a GPU for REASONs; off ends it", throttled,
      [](const FaultFlags& f) -> StatusOr<Action> {
        ASSIGN_OR_RETURN(const uint64_t bits, ThrottleBits(f.reasons));
        return Action{{fmt::format("throttle {} {}", f.gpu,
                                   bits == 0 ? std::string("off") : std::to_string(bits))},
                      fmt::format("GPU {}: throttle reasons {:#x}", f.gpu, bits)};
      });
  AddGpu(throttle, throttled)->required();
  throttle
      ->add_option("REASON", throttled->reasons,
                   "idle, clocks, power-cap, hw-slowdown, sync-boost, sw-thermal, hw-thermal, "
                   "power-brake, display, off, or a number")
      ->required();
}

void AddNvLink(CLI::App& app, CliContext& context) {
  auto flags = std::make_shared<FaultFlags>();
  CLI::App* verb = AddFaultVerb(
      app, context, "nvlink", "Take an NVLink of a GPU down or up, or add errors", flags,
      [](const FaultFlags& f) -> StatusOr<Action> {
        const int changes = (f.is_down ? 1 : 0) + (f.is_up ? 1 : 0) + (f.errors ? 1 : 0);
        if (changes != 1) {
          return InvalidArgument("nvlink: set one of --down, --up and --errors N");
        }
        if (f.is_down) {
          return Action{{fmt::format("nvlink {} {}", f.gpu, f.link)},
                        fmt::format("GPU {}: NVLink {} is down", f.gpu, f.link)};
        }
        if (f.is_up) {
          return Action{{fmt::format("nvlink {} {} up", f.gpu, f.link)},
                        fmt::format("GPU {}: NVLink {} is up", f.gpu, f.link)};
        }
        return Action{
            {fmt::format("nvlink {} {} errors {}", f.gpu, f.link, *f.errors)},
            fmt::format("GPU {}: {} errors added on NVLink {}", f.gpu, *f.errors, f.link)};
      });
  AddGpu(verb, flags)->required();
  verb->add_option("LINK", flags->link, "Link number")->required()->check(CLI::NonNegativeNumber);
  verb->add_flag("--down", flags->is_down, "Take the link down");
  verb->add_flag("--up", flags->is_up, "Bring the link up");
  verb->add_option("--errors", flags->errors, "CRC errors to add")->check(CLI::NonNegativeNumber);
}

void AddSet(CLI::App& app, CliContext& context) {
  auto flags = std::make_shared<FaultFlags>();
  CLI::App* verb = AddFaultVerb(
      app, context, "set", "Set any other value of a GPU: fabric-state, fan, power-limit, …", flags,
      [](const FaultFlags& f) -> StatusOr<Action> {
        return Action{{fmt::format("set {} {} {}", f.gpu, f.field, f.value)},
                      fmt::format("GPU {}: {} is {}", f.gpu, f.field, f.value)};
      });
  AddGpu(verb, flags)->required();
  verb->add_option("FIELD", flags->field, "Name of the value; an unknown one prints the list")
      ->required();
  verb->add_option("VALUE", flags->value, "An integer")->required()->check(CLI::NonNegativeNumber);
}

}  // namespace

void AddFaultVerbs(CLI::App& app, CliContext& context) {
  AddXid(app, context);
  AddEcc(app, context);
  AddLoseAndHeal(app, context);
  AddHangAndSlow(app, context);
  AddRefuse(app, context);
  AddProcess(app, context);
  AddSensors(app, context);
  AddNvLink(app, context);
  AddSet(app, context);
}

}  // namespace kgpu::simhost
