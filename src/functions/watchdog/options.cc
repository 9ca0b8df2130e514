#include "src/functions/watchdog/options.h"

#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <limits>

#include "src/platform/base/bytes.h"
#include "src/platform/base/duration.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::watchdog {
namespace {

namespace json = boost::json;

constexpr uint64_t kMaxConcurrency = 10'000;
constexpr uint64_t kMaxProcesses = 256;
constexpr uint64_t kMaxQueue = 100'000;
// A call's bytes are in memory.
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

using Setter = Status (*)(Options& options, std::string_view where, std::string_view text);

Status SetCommand(Options& options, std::string_view where, std::string_view text) {
  const StatusOr<json::value> value = doc::ParseJson(text, where, doc::Limits{});
  const auto is_text = [](const json::value& item) { return item.is_string(); };
  if (!value.ok() || !value->is_array() || value->as_array().empty() ||
      !std::ranges::all_of(value->as_array(), is_text)) {
    return InvalidArgument(
        "{}: \"{}\" must be a JSON array of texts: [\"/function/handler\", \"argument\"]", where,
        Printable(text));
  }
  options.command.clear();
  for (const json::value& item : value->as_array()) {
    options.command.emplace_back(item.as_string());
  }
  return OkStatus();
}

StatusOr<std::vector<std::string>> Addresses(std::string_view where, std::string_view text) {
  std::vector<std::string> addresses;
  for (const std::string_view part : Split(text, ',')) {
    if (Trim(part).empty()) {
      return InvalidArgument("{}: \"{}\" must be a list such as :8080,/run/kgpu-fn/fn.sock", where,
                             Printable(text));
    }
    addresses.emplace_back(Trim(part));
  }
  return addresses;
}

Status SetListen(Options& options, std::string_view where, std::string_view text) {
  ASSIGN_OR_RETURN(options.listen, Addresses(where, text));
  return OkStatus();
}

Status SetGrpc(Options& options, std::string_view where, std::string_view text) {
  if (text == "off") {
    options.grpc.clear();
    return OkStatus();
  }
  ASSIGN_OR_RETURN(options.grpc, Addresses(where, text));
  return OkStatus();
}

StatusOr<size_t> Count(std::string_view where, std::string_view text, uint64_t least,
                       uint64_t most) {
  const std::optional<uint64_t> number = ParseUint(text);
  if (!number || *number < least || *number > most) {
    return InvalidArgument("{}: \"{}\" must be a number from {} to {}", where, Printable(text),
                           least, most);
  }
  return *number;
}

Status SetConcurrency(Options& options, std::string_view where, std::string_view text) {
  ASSIGN_OR_RETURN(options.concurrency, Count(where, text, 1, kMaxConcurrency));
  return OkStatus();
}

Status SetProcesses(Options& options, std::string_view where, std::string_view text) {
  ASSIGN_OR_RETURN(options.processes, Count(where, text, 1, kMaxProcesses));
  return OkStatus();
}

Status SetQueue(Options& options, std::string_view where, std::string_view text) {
  ASSIGN_OR_RETURN(options.queue, Count(where, text, 0, kMaxQueue));
  return OkStatus();
}

StatusOr<std::chrono::milliseconds> Time(std::string_view where, std::string_view text) {
  ASSIGN_OR_RETURN(const std::chrono::milliseconds time, ParseDuration(where, text));
  if (time.count() == 0) {
    return InvalidArgument("{}: \"{}\" must be more than 0", where, Printable(text));
  }
  return time;
}

Status SetTimeout(Options& options, std::string_view where, std::string_view text) {
  ASSIGN_OR_RETURN(options.timeout, Time(where, text));
  return OkStatus();
}

Status SetStartTimeout(Options& options, std::string_view where, std::string_view text) {
  ASSIGN_OR_RETURN(options.start_timeout, Time(where, text));
  return OkStatus();
}

Status SetGrace(Options& options, std::string_view where, std::string_view text) {
  ASSIGN_OR_RETURN(options.grace, ParseDuration(where, text));
  return OkStatus();
}

StatusOr<uint64_t> Size(std::string_view where, std::string_view text) {
  const StatusOr<Bytes> bytes = ParseQuantity(text);
  if (!bytes.ok() || bytes->count == 0 || bytes->count > kMaxBytes) {
    return InvalidArgument("{}: \"{}\" must be a number of bytes up to 1Gi, such as 16Mi", where,
                           Printable(text));
  }
  return bytes->count;
}

Status SetMaxBody(Options& options, std::string_view where, std::string_view text) {
  ASSIGN_OR_RETURN(options.max_body, Size(where, text));
  return OkStatus();
}

Status SetMaxOutput(Options& options, std::string_view where, std::string_view text) {
  ASSIGN_OR_RETURN(options.max_output, Size(where, text));
  return OkStatus();
}

struct Setting {
  std::string_view flag;
  std::string_view variable;
  Setter set;
  std::string_view help;
};

constexpr std::array kSettings{
    Setting{"--command", "KGPU_FN_COMMAND", SetCommand, "worker as a JSON array; or after --"},
    Setting{"--listen", "KGPU_FN_LISTEN", SetListen, "HTTP addresses and sockets (:8080)"},
    Setting{"--grpc", "KGPU_FN_GRPC", SetGrpc, "gRPC addresses and sockets, or off (:50051)"},
    Setting{"--concurrency", "KGPU_FN_CONCURRENCY", SetConcurrency, "calls at a time (1)"},
    Setting{"--processes", "KGPU_FN_PROCESSES", SetProcesses, "worker processes (1)"},
    Setting{"--queue", "KGPU_FN_QUEUE", SetQueue, "calls that may wait (4 x concurrency)"},
    Setting{"--timeout", "KGPU_FN_TIMEOUT", SetTimeout, "time for a call (60s)"},
    Setting{"--start-timeout", "KGPU_FN_START_TIMEOUT", SetStartTimeout,
            "time for a worker to be ready (5m)"},
    Setting{"--grace", "KGPU_FN_GRACE", SetGrace, "time for calls after SIGTERM (10s)"},
    Setting{"--max-body", "KGPU_FN_MAX_BODY", SetMaxBody, "bytes of a call's input (16Mi)"},
    Setting{"--max-output", "KGPU_FN_MAX_OUTPUT", SetMaxOutput, "bytes of a call's output (64Mi)"},
};

Status ReadVariables(Options& options, const Environment& environment) {
  for (const Setting& setting : kSettings) {
    const std::optional<std::string> value = environment(std::string(setting.variable));
    // An empty one is as good as none: images and units cannot always unset a variable.
    if (value && !value->empty()) {
      RETURN_IF_ERROR(setting.set(options, setting.variable, *value));
    }
  }
  return OkStatus();
}

// Reads the flag at the front and, where it is an argument of its own, its value; returns how many
// arguments that were.
StatusOr<size_t> ReadFlag(Options& options, std::span<const std::string> arguments) {
  const std::string_view argument = arguments.front();
  const size_t equals = argument.find('=');
  const std::string_view name = argument.substr(0, equals);
  const auto* const setting =
      std::ranges::find_if(kSettings, [&](const Setting& known) { return known.flag == name; });
  if (setting == kSettings.end()) {
    return InvalidArgument("{}: unknown flag: see kgpu-fnwatch --help", Printable(argument));
  }
  if (equals != std::string_view::npos) {
    RETURN_IF_ERROR(setting->set(options, name, argument.substr(equals + 1)));
    return 1;
  }
  if (arguments.size() < 2) {
    return InvalidArgument("{}: a value is missing", name);
  }
  RETURN_IF_ERROR(setting->set(options, name, arguments[1]));
  return 2;
}

}  // namespace

StatusOr<Options> ReadOptions(std::span<const std::string> arguments,
                              const Environment& environment) {
  Options options;
  RETURN_IF_ERROR(ReadVariables(options, environment));
  while (!arguments.empty()) {
    const std::string& argument = arguments.front();
    if (argument == "--") {
      options.command.assign(arguments.begin() + 1, arguments.end());
      break;
    }
    if (argument == "--help" || argument == "--version") {
      (argument == "--help" ? options.wants_help : options.wants_version) = true;
      return options;
    }
    ASSIGN_OR_RETURN(const size_t read, ReadFlag(options, arguments));
    arguments = arguments.subspan(read);
  }
  if (options.command.empty()) {
    return InvalidArgument(
        "KGPU_FN_COMMAND: no worker to run: set it to a JSON array, or give a command after --");
  }
  return options;
}

std::string OptionsHelp() {
  std::string text =
      "Run a function's handler and pass calls to it.\n\n"
      "Usage: kgpu-fnwatch [FLAG…] [-- COMMAND [ARGUMENT…]]\n\n";
  for (const Setting& setting : kSettings) {
    text += fmt::format("  {:<16} {:<22} {}\n", setting.flag, setting.variable, setting.help);
  }
  text += "  --version        print the version\n";
  return text;
}

}  // namespace kgpu::watchdog
