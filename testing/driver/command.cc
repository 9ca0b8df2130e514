#include "testing/driver/command.h"

#include <optional>
#include <utility>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "testing/driver/faults.h"
#include "testing/driver/mig.h"

namespace kgpu::sim {

namespace {

constexpr uint64_t kNanosecondsPerMillisecond = 1'000'000;

// The words of a command after the verb, taken one by one.
class Arguments {
 public:
  Arguments(const SimState& state, std::vector<std::string_view> words)
      : state_(state), words_(std::move(words)) {}

  std::string_view verb() const { return words_.front(); }
  bool has_more() const { return next_ < words_.size(); }
  std::string_view Peek() const { return has_more() ? words_[next_] : std::string_view(); }

  StatusOr<std::string_view> Word(std::string_view name) {
    if (!has_more()) {
      return InvalidArgument("{}: {} is missing", verb(), name);
    }
    return words_[next_++];
  }
  std::string_view OptionalWord() { return has_more() ? words_[next_++] : std::string_view(); }

  StatusOr<uint32_t> Number(std::string_view name) {
    ASSIGN_OR_RETURN(const uint64_t value, BigNumber(name));
    if (value > 0xffffffff) {
      return InvalidArgument("{}: {}: {} must be below 2^32", verb(), name, value);
    }
    return static_cast<uint32_t>(value);
  }
  StatusOr<uint64_t> BigNumber(std::string_view name) {
    ASSIGN_OR_RETURN(const std::string_view word, Word(name));
    const auto value = word.starts_with("0x") ? ParseUint(word, 16) : ParseUint(word);
    if (!value.has_value()) {
      return InvalidArgument("{}: {}: \"{}\" must be an integer", verb(), name, Printable(word));
    }
    return *value;
  }
  // `fallback` when no word is left.
  StatusOr<uint32_t> NumberOr(std::string_view name, uint32_t fallback) {
    return has_more() ? Number(name) : StatusOr<uint32_t>(fallback);
  }
  StatusOr<std::optional<uint32_t>> OptionalNumber(std::string_view name) {
    if (!has_more()) {
      return std::optional<uint32_t>();
    }
    ASSIGN_OR_RETURN(const uint32_t value, Number(name));
    return std::optional<uint32_t>(value);
  }

  StatusOr<uint32_t> Gpu() {
    ASSIGN_OR_RETURN(const std::string_view who, Word("GPU"));
    auto slot = FindGpu(state_, who);
    return slot.ok() ? slot : Annotate(slot.status(), "{}", verb());
  }
  // Nothing for "all".
  StatusOr<std::optional<uint32_t>> GpuOrAll() {
    if (Peek() == "all") {
      ++next_;
      return std::optional<uint32_t>();
    }
    ASSIGN_OR_RETURN(const uint32_t slot, Gpu());
    return std::optional<uint32_t>(slot);
  }
  StatusOr<bool> OnOff() {
    ASSIGN_OR_RETURN(const std::string_view word, Word("on or off"));
    if (word != "on" && word != "off") {
      return InvalidArgument("{}: \"{}\" must be on or off", verb(), Printable(word));
    }
    return word == "on";
  }
  Status End() const {
    if (has_more()) {
      return InvalidArgument("{}: unexpected argument \"{}\"", verb(), Printable(Peek()));
    }
    return OkStatus();
  }

 private:
  const SimState& state_;
  std::vector<std::string_view> words_;
  size_t next_ = 1;
};

struct NamedNumber {
  std::string_view name;
  uint64_t value;
};

// NVML_MEMORY_LOCATION_*.
constexpr NamedNumber kLocations[] = {{"l1", 0},       {"l2", 1},      {"dram", 2},
                                      {"register", 3}, {"texture", 4}, {"texture-shared", 5},
                                      {"cbu", 6},      {"sram", 7}};
// nvmlClocksEventReason*.
constexpr NamedNumber kReasons[] = {
    {"off", 0},           {"idle", 0x1},        {"application-clocks", 0x2},
    {"power-cap", 0x4},   {"hw-slowdown", 0x8}, {"sync-boost", 0x10},
    {"sw-thermal", 0x20}, {"hw-thermal", 0x40}, {"power-brake", 0x80},
    {"display", 0x100}};

template <size_t N>
StatusOr<uint64_t> NamedOrNumber(const NamedNumber (&table)[N], Arguments& args,
                                 std::string_view name) {
  std::vector<std::string_view> names;
  for (const NamedNumber& entry : table) {
    if (entry.name == args.Peek()) {
      args.OptionalWord();
      return entry.value;
    }
    names.push_back(entry.name);
  }
  if (const auto nearest = Nearest(args.Peek(), names)) {
    return InvalidArgument("{}: {}: unknown \"{}\"; did you mean {}?", args.verb(), name,
                           Printable(args.Peek()), *nearest);
  }
  return args.BigNumber(name);
}

using Answer = StatusOr<std::string>;

Answer Done(const Status& status) {
  if (!status.ok()) {
    return status;
  }
  return std::string();
}

Answer RunXid(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const uint32_t xid, args.Number("XID"));
  XidTarget target;
  if (args.Peek() != "times") {
    ASSIGN_OR_RETURN(target.gpu_instance, args.NumberOr("GPU instance", kUnsupported));
  }
  if (args.Peek() != "times") {
    ASSIGN_OR_RETURN(target.compute_instance, args.NumberOr("compute instance", kUnsupported));
  }
  uint32_t times = 1;
  if (args.Peek() == "times") {
    args.OptionalWord();
    ASSIGN_OR_RETURN(times, args.Number("times"));
  }
  RETURN_IF_ERROR(args.End());
  if (times < 1 || times > kMaxEvents) {
    return InvalidArgument("xid: times: {} must be 1 to {}", times, kMaxEvents);
  }
  for (uint32_t i = 0; i < times; ++i) {
    RETURN_IF_ERROR(InjectXid(state, slot, xid, target));
  }
  return std::string();
}

Answer RunEcc(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const std::string_view kind, args.Word("corrected or uncorrected"));
  if (kind != "corrected" && kind != "uncorrected") {
    return InvalidArgument("ecc: \"{}\" must be corrected or uncorrected", Printable(kind));
  }
  ASSIGN_OR_RETURN(const uint64_t count, args.BigNumber("count"));
  uint64_t location = 2;
  if (args.has_more()) {
    ASSIGN_OR_RETURN(location, NamedOrNumber(kLocations, args, "location"));
  }
  RETURN_IF_ERROR(args.End());
  if (location >= kEccLocations) {
    return InvalidArgument("ecc: location: {} must be 0 to {}", location, kEccLocations - 1);
  }
  return Done(SetEcc(state, slot, kind == "corrected" ? EccKind::kCorrected : EccKind::kUncorrected,
                     static_cast<uint32_t>(location), count));
}

Answer RunLose(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  RETURN_IF_ERROR(args.End());
  return Done(Lose(state, slot));
}

Answer RunHeal(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const auto slot, args.GpuOrAll());
  RETURN_IF_ERROR(args.End());
  return Done(Heal(state, slot));
}

Answer RunHang(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const auto slot, args.GpuOrAll());
  const std::string_view function = args.OptionalWord();
  RETURN_IF_ERROR(args.End());
  return Done(Hang(state, slot, function));
}

Answer RunSlow(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const auto slot, args.GpuOrAll());
  ASSIGN_OR_RETURN(const uint32_t milliseconds, args.Number("milliseconds"));
  const std::string_view function = args.OptionalWord();
  RETURN_IF_ERROR(args.End());
  return Done(Slow(state, slot, milliseconds * kNanosecondsPerMillisecond, function));
}

Answer RunRefuse(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const auto slot, args.GpuOrAll());
  ASSIGN_OR_RETURN(const uint32_t code, args.Number("code"));
  const std::string_view function = args.OptionalWord();
  RETURN_IF_ERROR(args.End());
  return Done(Refuse(state, slot, code, function));
}

Answer RunUnload(SimState& state, Arguments& args) {
  RETURN_IF_ERROR(args.End());
  return Done(Unload(state));
}

// "12.2" as 12020.
StatusOr<uint32_t> ParseCuda(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '.');
  const auto major = parts.size() == 2 ? ParseUint(parts[0]) : std::nullopt;
  const auto minor = parts.size() == 2 ? ParseUint(parts[1]) : std::nullopt;
  if (!major || !minor || *major > 99 || *minor > 99) {
    return InvalidArgument("load: CUDA version: \"{}\" must look like 12.2", Printable(text));
  }
  return static_cast<uint32_t>(*major * 1000 + *minor * 10);
}

Answer RunLoad(SimState& state, Arguments& args) {
  const std::string_view version = args.OptionalWord();
  uint32_t cuda = 0;
  if (args.has_more()) {
    ASSIGN_OR_RETURN(cuda, ParseCuda(args.OptionalWord()));
  }
  RETURN_IF_ERROR(args.End());
  return Done(Load(state, version, cuda));
}

Answer RunAdd(SimState& state, Arguments& args) {
  const std::vector<uint32_t> present = PresentGpus(state);
  if (present.empty() && !args.has_more()) {
    return FailedPrecondition(
        "add: the host has no GPU to copy: create it from a profile with one");
  }
  uint32_t model = present.empty() ? 0 : present.front();
  if (args.has_more()) {
    ASSIGN_OR_RETURN(model, args.Gpu());
  }
  RETURN_IF_ERROR(args.End());
  ASSIGN_OR_RETURN(const uint32_t slot, CloneGpu(state, model));
  return fmt::format("gpu {}", state.gpus[slot].uuid);
}

Answer RunRemove(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  RETURN_IF_ERROR(args.End());
  return Done(RemoveGpu(state, slot));
}

Answer RunMigMode(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const bool is_on, args.OnOff());
  RETURN_IF_ERROR(args.End());
  RETURN_IF_ERROR(SetMigMode(state, slot, is_on));
  const SimMig& mig = state.gpus[slot].mig;
  return std::string(mig.mode == mig.pending_mode ? ""
                                                  : "pending until the GPU is reset: run heal");
}

Answer RunMigActivate(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  RETURN_IF_ERROR(args.End());
  RETURN_IF_ERROR(ActivateMigMode(state, slot));
  return std::string();
}

Answer RunMigCreate(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const std::string_view profile, args.Word("profile"));
  ASSIGN_OR_RETURN(const auto start, args.OptionalNumber("start"));
  RETURN_IF_ERROR(args.End());
  ASSIGN_OR_RETURN(const uint32_t gi, MigCreate(state, slot, profile, start));
  return fmt::format("gi {} ci 0 {}", gi,
                     state.gpus[slot].mig.instances[gi].compute_instances[0].uuid);
}

Answer RunMigDestroy(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const auto gi, args.OptionalNumber("GPU instance"));
  RETURN_IF_ERROR(args.End());
  return Done(MigDestroy(state, slot, gi));
}

Answer RunGiCreate(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const uint32_t profile, args.Number("profile id"));
  ASSIGN_OR_RETURN(const auto start, args.OptionalNumber("start"));
  RETURN_IF_ERROR(args.End());
  ASSIGN_OR_RETURN(const uint32_t gi, CreateGpuInstance(state, slot, profile, start));
  return fmt::format("gi {}", gi);
}

Answer RunGiDestroy(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const uint32_t gi, args.Number("GPU instance"));
  RETURN_IF_ERROR(args.End());
  return Done(DestroyGpuInstance(state, slot, gi));
}

Answer RunCiCreate(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const uint32_t gi, args.Number("GPU instance"));
  ASSIGN_OR_RETURN(const uint32_t profile, args.Number("compute instance profile"));
  RETURN_IF_ERROR(args.End());
  ASSIGN_OR_RETURN(const uint32_t ci, CreateComputeInstance(state, slot, gi, profile));
  return fmt::format("ci {}", ci);
}

Answer RunCiDestroy(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const uint32_t gi, args.Number("GPU instance"));
  ASSIGN_OR_RETURN(const uint32_t ci, args.Number("compute instance"));
  RETURN_IF_ERROR(args.End());
  return Done(DestroyComputeInstance(state, slot, gi, ci));
}

StatusOr<uint32_t> ParseProcessKind(std::string_view word) {
  if (word.empty() || word == "compute") {
    return kCompute;
  }
  if (word == "graphics") {
    return kGraphics;
  }
  if (word == "mps") {
    return kMps;
  }
  return InvalidArgument("process: \"{}\" must be compute, graphics or mps", Printable(word));
}

Answer RunProcess(SimState& state, Arguments& args) {
  SimProcess process = {};
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(process.pid, args.Number("pid"));
  ASSIGN_OR_RETURN(const uint32_t mebibytes, args.Number("memory in MiB"));
  process.used_bytes = uint64_t{mebibytes} << 20;
  ASSIGN_OR_RETURN(process.kind, ParseProcessKind(args.OptionalWord()));
  const std::string_view name = args.has_more() ? args.OptionalWord() : "simulated";
  RETURN_IF_ERROR(SetText(process.name, sizeof(process.name), "process: name", name));
  ASSIGN_OR_RETURN(process.sm_util, args.NumberOr("utilisation", 0));
  ASSIGN_OR_RETURN(process.gpu_instance, args.NumberOr("GPU instance", kUnsupported));
  ASSIGN_OR_RETURN(
      process.compute_instance,
      args.NumberOr("compute instance", process.gpu_instance == kUnsupported ? kUnsupported : 0));
  RETURN_IF_ERROR(args.End());
  if (process.sm_util > 100) {
    return InvalidArgument("process: utilization: {} must be 0 to 100 percent", process.sm_util);
  }
  return Done(AddProcess(state, slot, process));
}

Answer RunProcessUtil(SimState& state, Arguments& args) {
  SimProcess load = {};
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(load.pid, args.Number("pid"));
  ASSIGN_OR_RETURN(load.sm_util, args.Number("SM percent"));
  ASSIGN_OR_RETURN(load.mem_util, args.NumberOr("memory percent", 0));
  ASSIGN_OR_RETURN(load.enc_util, args.NumberOr("encoder percent", 0));
  ASSIGN_OR_RETURN(load.dec_util, args.NumberOr("decoder percent", 0));
  RETURN_IF_ERROR(args.End());
  return Done(SetProcessUtil(state, slot, load));
}

Answer RunProcessEnd(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const uint32_t pid, args.Number("pid"));
  RETURN_IF_ERROR(args.End());
  return Done(RemoveProcess(state, slot, pid));
}

Answer RunUtil(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const uint32_t gpu, args.Number("percent"));
  ASSIGN_OR_RETURN(const uint32_t memory,
                   args.NumberOr("memory percent", state.gpus[slot].utilization.memory));
  RETURN_IF_ERROR(args.End());
  return Done(SetUtil(state, slot, gpu, memory));
}

Answer RunTemp(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const uint32_t celsius, args.Number("degrees"));
  RETURN_IF_ERROR(args.End());
  return Done(SetTemp(state, slot, celsius));
}

Answer RunThrottle(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const uint64_t reasons, NamedOrNumber(kReasons, args, "reason"));
  RETURN_IF_ERROR(args.End());
  return Done(Throttle(state, slot, reasons));
}

Answer RunNvLink(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const uint32_t link, args.Number("link"));
  RETURN_IF_ERROR(args.End());
  return Done(NvLinkDown(state, slot, link));
}

Answer RunSet(SimState& state, Arguments& args) {
  ASSIGN_OR_RETURN(const uint32_t slot, args.Gpu());
  ASSIGN_OR_RETURN(const std::string_view field, args.Word("field"));
  ASSIGN_OR_RETURN(const uint64_t value, args.BigNumber("value"));
  RETURN_IF_ERROR(args.End());
  return Done(SetField(state, slot, field, value));
}

struct Verb {
  std::string_view name;
  Answer (*run)(SimState& state, Arguments& args);
};

constexpr Verb kVerbs[] = {
    {"xid", RunXid},
    {"ecc", RunEcc},
    {"lose", RunLose},
    {"heal", RunHeal},
    {"hang", RunHang},
    {"slow", RunSlow},
    {"refuse", RunRefuse},
    {"unload", RunUnload},
    {"load", RunLoad},
    {"add", RunAdd},
    {"remove", RunRemove},
    {"mig-mode", RunMigMode},
    {"mig-activate", RunMigActivate},
    {"mig-create", RunMigCreate},
    {"mig-destroy", RunMigDestroy},
    {"gi-create", RunGiCreate},
    {"gi-destroy", RunGiDestroy},
    {"ci-create", RunCiCreate},
    {"ci-destroy", RunCiDestroy},
    {"process", RunProcess},
    {"process-util", RunProcessUtil},
    {"process-end", RunProcessEnd},
    {"util", RunUtil},
    {"temp", RunTemp},
    {"throttle", RunThrottle},
    {"nvlink", RunNvLink},
    {"set", RunSet},
};

}  // namespace

StatusOr<std::string> ApplyCommand(SimState& state, std::string_view line) {
  if (line.size() > kMaxCommand) {
    return InvalidArgument("a command can have at most {} bytes, not {}", kMaxCommand, line.size());
  }
  std::vector<std::string_view> words = Words(Trim(line));
  if (words.empty()) {
    return InvalidArgument("the command is empty: use xid, lose, heal, …");
  }
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) {
    if (verb.name == words.front()) {
      Arguments args(state, std::move(words));
      return verb.run(state, args);
    }
    names.push_back(verb.name);
  }
  const auto nearest = Nearest(words.front(), names);
  return InvalidArgument("unknown command \"{}\"{}", Printable(words.front()),
                         nearest ? fmt::format("; did you mean {}?", *nearest) : "");
}

}  // namespace kgpu::sim
